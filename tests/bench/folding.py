"""What folding source files into their signatures takes, in time and in memory."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tests.bench.table import Row
from tests.bench.timing import fastest

FILES = 200
# Characters; large enough for all files to be shown.
UNLIMITED = 100_000_000


def measure_folding(root: Path, sources: list[Path]) -> Iterator[Row]:
    """Yield the rows of folding, first with nothing in memory and then again."""
    if find_spec("condense.folding") is None:
        print("Folding is not measured: there is no condense.folding yet.")
        return
    from condense.folding import fold_files  # noqa: PLC0415 - may be missing

    paths = [str(path.relative_to(root)) for path in sources[:FILES]]
    before = _resident()
    first = fastest(lambda: fold_files(paths, root, limit=UNLIMITED), times=1)
    grown = _resident() - before
    again = fastest(lambda: fold_files(paths, root, limit=UNLIMITED))
    yield Row("fold 200 source files, a file", 1_000 * first / FILES, 3, "ms", there=35.6)
    yield Row("… memory", grown, 100, "MB", there=640)
    yield Row("… again, a file", 1_000 * again / FILES, 0.1, "ms", there=35.6)


def _resident() -> float:
    """Return the megabytes that this process and those it started hold in memory (Linux)."""
    mine = os.getpid()
    children = Path(f"/proc/{mine}/task/{mine}/children").read_text().split()
    return sum(map(_resident_of, [str(mine), *children]))


def _resident_of(pid: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1_000
