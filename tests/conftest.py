"""Fixtures for every test: no test sees the machine's key, folders or browser by accident."""

import gc
import os
import shutil
import signal
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings as django_settings
from django.core.cache import caches
from django.db import connection
from django.test import TransactionTestCase, override_settings
from pytest_django import DjangoDbBlocker

from chatapp.project.languages import Reader
from chatapp.providers import provider_specs
from condense.folded_files import signatures
from tests import databases
from tests.first_start import FirstStart, Once

# What a shell starts in the background ignores Ctrl+C, and so would the servers of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

IN_CI = os.environ.get("CI") == "true"

# On a busy machine its process may take seconds to start: no source here is too slow by that.
signatures.parser.seconds = 120


def find_chromium() -> str | None:
    """Return the path of the browser that .ci/browser looks for, or None."""
    return shutil.which(os.environ.get("CHROMIUM", "chromium"))


# The tests that `make test` leaves to others, by their marker.
LEFT_TO = {
    "rare": "of what seldom changes, a cluster's, and all on PostgreSQL (.ci/run)",
    "soak": "that take long, and properties with more examples (make soak)",
}
# They test what changes with one commit in twenty.
RARE = (
    *("deployment", "faults", "tooling/test_install.py", "tooling/test_licences.py"),
    *(
        "chatapp/records/maintenance/test_backups_between.py",
        "chatapp/records/maintenance/test_move_database.py",
    ),
    *("chatapp/web/api/test_description.py", "chatapp/records/maintenance/test_moves.py"),
    "chatapp/accounts/test_single_sign_on.py",
    *(
        f"e2e/test_{name}.py"
        for name in (
            *("accounts", "again", "attachments", "bad_lines", "density", "evidence", "facts"),
            *("imports", "languages", "long_texts", "other_settings", "own_words", "pins"),
            *("places", "previews", "profiles", "prose", "queued", "record", "search"),
            *("shorthand", "signs_of_life", "undo_ways"),
        )
    ),
)
COUNTED = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let ``make test-rare`` and ``make soak`` run the tests of their marker, and only those."""
    for name in LEFT_TO:
        parser.addoption(f"--{name}", action="store_true", help=f"run only tests marked {name}")


def pytest_configure(config: pytest.Config) -> None:
    """Have hypothesis try the same in each run, however busy the machine is; ``make soak`` more."""
    ci, settings = hypothesis.settings.get_profile("ci"), hypothesis.settings
    soak = config.getoption("--soak")
    settings.register_profile("tests", ci, derandomize=not soak, max_examples=500 if soak else 15)
    settings.load_profile("tests")
    # A test that wants it has a stand-in: the model takes half a second to start.
    django_settings.RECALL_BY_MEANING = False
    config.stash[COUNTED] = Counter()
    if config.getoption("numprocesses", None):
        config.pluginmanager.register(Workers(config))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage after each file alone, and never among what was collected.

    What was collected stays until the end: to walk over it took longer than all the rest.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _garbage() -> Iterator[None]:
    """Look for garbage once: to do it whenever there may be some takes a twentieth of the time."""
    yield
    gc.collect()
    gc.freeze()


def _uses_database(item: pytest.Item) -> bool:
    """Return whether the database matters to a test: others have run beside a file of SQLite."""
    asked = {"db", "transactional_db"} & {*item.fixturenames}  # type: ignore[attr-defined] # of functions
    return bool(asked or any(map(item.get_closest_marker, ("django_db", "postgresql"))))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, or all else; skip browser tests where there is no browser.

    In CI they fail there.
    """
    if connection.vendor != "sqlite":
        config.hook.pytest_deselected(items=[one for one in items if not _uses_database(one)])
        items[:] = filter(_uses_database, items)
    wanted = next((name for name in LEFT_TO if config.getoption(f"--{name}")), "")
    groups: dict[str, list[pytest.Item]] = {"": [], **{name: [] for name in LEFT_TO}}
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(RARE):
            item.add_marker("rare")
        groups[next(filter(item.get_closest_marker, reversed(LEFT_TO)), "")].append(item)
    if wanted == "soak":
        groups["soak"] += (one for one in groups[""] if hypothesis.is_hypothesis_test(one.obj))
    items[:] = groups.pop(wanted)
    config.hook.pytest_deselected(items=[item for group in groups.values() for item in group])
    if not wanted:
        config.stash[COUNTED].update({name: len(groups[name]) for name in LEFT_TO})
    # One process begins with all of these, so that the others start no browser.
    items.sort(key=lambda one: one.get_closest_marker("browser") is None)
    _mark_skipped(items)


def _mark_skipped(items: list[pytest.Item]) -> None:
    needs_sqlite = connection.vendor != "sqlite"
    needs_browser = pytest.mark.skip(reason="needs Debian's chromium: apt-get install chromium")
    for item in items:
        if needs_sqlite and (only := item.get_closest_marker("sqlite")):
            item.add_marker(pytest.mark.skip(reason=f"SQLite's own: {only.args[0]}"))
        if not needs_sqlite and (only := item.get_closest_marker("postgresql")):
            item.add_marker(pytest.mark.skip(reason=f"PostgreSQL's own: {only.args[0]}"))
        if IN_CI:
            # A browser, its server and the rest share a machine of which nothing is known: as in
            # the configuration that Playwright writes, a test has a second chance there, and the
            # report says so.
            item.add_marker(pytest.mark.flaky(reruns=1))
        elif item.get_closest_marker("browser") and not find_chromium():
            item.add_marker(needs_browser)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts to the process that prints them."""
    if output := getattr(session.config, "workeroutput", None):
        output["left"] = dict(session.config.stash[COUNTED])


class Workers:
    """What the workers of a run send when they end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_testnodedown(self, node: Any) -> None:
        """Keep the counts: each worker has collected the same."""
        self._config.stash[COUNTED] = Counter(getattr(node, "workeroutput", {}).get("left", {}))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line which tests did not run here, and where they do."""
    counts = config.stash[COUNTED].items()
    left = [f"{number} {LEFT_TO[name]}" for name, number in counts if number]
    if left and not hasattr(config, "workeroutput"):
        print("Tests that did not run:", "; ".join(left))


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's executable, for playwright's `executable_path`."""
    path = find_chromium()
    if path is None:
        pytest.fail("There is no chromium: run .ci/browser.")
    return path


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Makes folders that all processes of a run share."""
    place = tmp_path_factory.getbasetemp()
    # The workers of a run have a folder each, beside each other.
    return Once(place.parent if "PYTEST_XDIST_WORKER" in os.environ else place)


@pytest.fixture(scope="session")
def cached_folders(pytestconfig: pytest.Config) -> Once:
    """Makes folders that further runs share, too."""
    return Once(pytestconfig.cache.mkdir("kept"))


@pytest.fixture(scope="session")
def migrated(once: Once, cached_folders: Once, django_db_blocker: DjangoDbBlocker) -> Path:
    """A folder with a migrated database, if that is a file."""
    with django_db_blocker.unblock():
        return databases.migrated(once, cached_folders)


@pytest.fixture(scope="session")
def first_start(once: Once, migrated: Path, cached_folders: Once) -> FirstStart:
    """What a server finds in its folder when it is not started there for the first time."""
    return FirstStart(once, migrated, cached_folders)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Take the database that was prepared, and leave it: threads are connected to it to the end."""
    return True


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    migrated: Path,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_modify_db_settings_parallel_suffix: None,
) -> None:
    """Give each process a copy of a database that was migrated once."""
    databases.prepare(migrated, tmp_path_factory.mktemp("database"))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """Have a test that commits empty those tables alone that it has filled.

    Django empties all of them, and then makes rows of its own anew that no test changes.
    """
    TransactionTestCase._fixture_teardown = lambda _case: databases.empty()  # type: ignore[method-assign,attr-defined] # no setting does it


@pytest.fixture(scope="session", autouse=True)
def _same_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Take from all tests the machine's keys and collected files, and slow hashes."""
    specs = provider_specs().values()
    keys = (name for spec in specs for name in (spec.key_variable, spec.url_variable) if name)
    with override_settings(
        # A real hash is slow on purpose, which is Django's to test.
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        WHITENOISE_AUTOREFRESH=True,
        # Nothing is there: a test that collects has a folder of its own.
        STATIC_ROOT=tmp_path_factory.getbasetemp() / "static",
        **dict.fromkeys(keys, ""),
    ):
        yield


@pytest.fixture(autouse=True)
def isolation(tmp_path: Path) -> None:
    """Give each test folders of its own, English, and counters at zero."""
    # The last page that another test has asked for in this process was in a language of its own.
    Reader().enter()
    # Wrong passwords and requests are counted there, and what users' folders take.
    for name in ("default", "visits"):
        caches[name].clear()
    data = tmp_path / "data"
    data.mkdir()
    # Nothing keeps what it has read of these: the signals of `override_settings` would cost as much
    # as the rest of this.
    django_settings.DATA_DIR, django_settings.WORKSPACES_ROOT = data, data / "workspaces"
