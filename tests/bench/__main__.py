"""``make bench``: measure in one run, print one table, fail where a bound is missed."""

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django
from django.core.management import call_command

from tests.bench.table import Row, show

# Files of this size in bytes: large enough to mean something, none of them a data table.
SIZES = range(2_000, 40_000)


def find_sources(root: Path) -> list[Path]:
    """Return source files of the installed packages, the same ones in the same order each time."""
    files = sorted((root / "django").rglob("*.py")) + sorted((root / "anthropic").rglob("*.py"))
    return [path for path in files if path.stat().st_size in SIZES]


def measure() -> Iterator[Row]:
    """Yield every row."""
    # Django must be set up.
    from tests.bench import attempts, drafts, facts, folded_files, pages, storage, tokens, turns  # noqa: PLC0415
    from tests.bench.browser import measure_browser  # noqa: PLC0415
    from tests.bench.gateway import measure_gateway  # noqa: PLC0415

    root = Path(sysconfig.get_path("purelib"))
    sources = find_sources(root)
    yield from folded_files.measure_folding(root, sources)
    yield from tokens.measure_tokens(sources)
    yield from facts.measure_facts(sources)
    yield from storage.measure_storage()
    yield from pages.measure_pages()
    yield from attempts.measure_attempts()
    yield from drafts.measure_drafts()
    yield from turns.measure_turns()
    yield from turns.measure_streaming()
    yield from measure_gateway()
    yield from measure_browser()


def main() -> int:
    """Return 0 when every bound is kept."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        os.environ.update(DATA_DIR=folder, DJANGO_SETTINGS_MODULE="chatapp.settings")
        django.setup()
        call_command("migrate", verbosity=0)
        return show(measure())


if __name__ == "__main__":
    sys.exit(main())
