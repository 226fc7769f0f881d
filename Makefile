# One word per job, the same for people, hooks and CI. It needs Python 3.12 and make, no more.

.DEFAULT_GOAL := help
PYTHON_IN := .venv/bin
PYTEST := $(PYTHON_IN)/python -m pytest
DJHTML := $(PYTHON_IN)/djhtml --tabwidth 2
# What was compiled is kept, which the next run begins sooner by.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## List these targets
	@sed -n 's/^\([.a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: run
run: ## Start Palimpsest and print the address to open
	@.ci/port
	@.ci/install app
	@$(PYTHON_IN)/python manage.py serve

.PHONY: cluster
cluster: ## Start a cluster on this machine: PostgreSQL, Redis, two web processes and two workers
	@CI=true .ci/services
	@.ci/install scale
	@$(PYTHON_IN)/python -m tests.cluster $(FOLDER)

.PHONY: .venv
.venv: ## Install everything for development into .venv
	@.ci/install dev

.PHONY: test
test: lint ## Run every check and every test
	@.ci/browser
	@.ci/services
	$(PYTEST) -n 4 --dist worksteal --ignore=tests/cluster $(ARGS)

.PHONY: test-rare
test-rare: .venv ## Run the tests of what seldom changes: wheel, image, units, moves, faults, single sign-on, some pages
	@.ci/browser
	@.ci/services
	$(PYTEST) -n 2 --dist worksteal --rare --ignore=tests/cluster $(ARGS)

.PHONY: test-cluster
test-cluster: .venv ## Run the tests of a cluster of real processes
	@.ci/services
	$(PYTEST) -n 2 --dist worksteal tests/cluster $(ARGS)

.PHONY: test-postgres
test-postgres: .venv ## Run every test on a PostgreSQL of its own
	.ci/postgres $(PYTEST) -n 2 --dist worksteal --ignore=tests/cluster $(ARGS)

.PHONY: lint
lint: .venv ## Check style, types, layers, docstrings and migrations
	@$(MAKE) --no-print-directory -j 2 lint-types lint-rest

# Types take as long as all else together. The workers have three seconds to start, which is too little
# on a busy machine: mypy then ends with 2, and goes alone.
.PHONY: lint-types
lint-types:
	$(PYTHON_IN)/mypy -n 2 || { test $$? = 2 && $(PYTHON_IN)/mypy; }

.PHONY: lint-rest
lint-rest:
	$(PYTHON_IN)/ruff check .
	$(PYTHON_IN)/ruff format --check .
	$(DJHTML) --check templates
	@! LC_ALL=C.UTF-8 grep -rnE --include='*.html' '.{121}' templates || { echo "Longer than 120"; exit 1; }
	$(PYTHON_IN)/lint-imports --no-logo --no-cache
	$(PYTHON_IN)/python -m tests.tooling.messages --check
	$(PYTHON_IN)/python -m tests.tooling.grammar
	$(PYTHON_IN)/python manage.py makemigrations --check --dry-run

.PHONY: messages
messages: .venv ## Collect what is to be translated, and say what each language lacks
	$(PYTHON_IN)/python -m tests.tooling.messages

.PHONY: format
format: .venv ## Rewrite the code in the agreed style
	$(PYTHON_IN)/ruff check --fix-only .
	$(PYTHON_IN)/ruff format .
	$(DJHTML) templates

.PHONY: test-transcripts
test-transcripts: .venv ## Replay the transcript files in TRANSCRIPTS=<folder>
	@test -n "$(TRANSCRIPTS)" || { echo "Say which: make $@ TRANSCRIPTS=<folder>"; exit 1; }
	$(PYTEST) -n 2 --dist worksteal tests/transcripts --transcripts="$(TRANSCRIPTS)"

.PHONY: soak
soak: .venv ## Run the tests that take long: hundreds of faults and kills
	@.ci/browser
	@.ci/services
	@.ci/real
	$(PYTEST) -n 2 --dist worksteal --soak -o faulthandler_timeout=3600 $(ARGS)

.PHONY: bench
bench: .venv ## Measure speed and memory, and compare them with the bounds
	@.ci/browser
	$(PYTHON_IN)/python -m tests.bench

.PHONY: cluster-bench
cluster-bench: .venv ## Measure a cluster beside one process
	@CI=true .ci/services
	$(PYTHON_IN)/python -m tests.bench.cluster

.PHONY: bench-many
bench-many: .venv ## Measure search and a turn with a million messages in PostgreSQL
	@CI=true .ci/services
	$(PYTHON_IN)/python -m tests.bench.many

.PHONY: coverage
coverage: .venv ## Test the engine, and that the tests reach 95 % of it
	$(PYTEST) -n 2 tests/condense -q --cov=condense --cov-report=term --cov-fail-under=95

.PHONY: migrations
migrations: .venv ## Write the migrations that changed models need
	$(PYTHON_IN)/python manage.py makemigrations

.PHONY: wheel
wheel: ## Build the wheel, which runs without a checkout, into dist/
	@.ci/install app
	$(PYTHON_IN)/python -m pip wheel -q --disable-pip-version-check --no-deps --wheel-dir dist .

.PHONY: licences
licences: ## List the licences of all that a server runs with, and write its SBOM, into dist/
	@.ci/licences

.PHONY: lock
lock: ## Write the lock files anew; ARGS=--upgrade takes the latest versions
	@.ci/lock $(ARGS)

.PHONY: clean
clean: ## Remove what can be made again; conversations in var/ stay
	rm -rf .venv .venv-real .coverage htmlcov build dist *.egg-info
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
