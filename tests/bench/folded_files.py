"""Rows of folded files: source files become their signatures, in time and in memory."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from tree_sitter_language_pack import get_parser

from condense.folded_files.sections import fold_files
from tests.bench.clock import once
from tests.bench.table import Row

FILES = 200
# Characters; large enough for all files to be shown.
UNLIMITED = 100_000_000


def measure_folding(root: Path, sources: list[Path]) -> Iterator[Row]:
    """Yield the rows of folding, with nothing in memory."""
    files = sources[:FILES]
    paths = [str(path.relative_to(root)) for path in files]
    contents, parser = [path.read_bytes() for path in files], get_parser("python")

    def fold() -> object:
        return fold_files(paths, root, limit=UNLIMITED)

    def parse() -> None:
        for content in contents:
            parser.parse(content)

    # The first time is the only one; it is spent in a process of its own.
    before = _resident()
    first, grown = once(fold, time.perf_counter), _resident() - before
    bare = min(once(parse, time.perf_counter) for _ in range(3))
    work = f"fold {FILES} source files"
    yield Row(work, 1_000 * first, "ms", 4, "tree-sitter's bare parse", 1_000 * bare)
    yield Row("… memory", grown, "MB", 100)


def _resident() -> float:
    """Return the megabytes that this process and those it started hold in memory (Linux)."""
    mine = os.getpid()
    children = Path(f"/proc/{mine}/task/{mine}/children").read_text().split()
    held = [Path(f"/proc/{pid}/status").read_text() for pid in (mine, *children)]
    return sum(int(size) for text in held for size in re.findall(r"VmRSS:\s+(\d+)", text)) / 1_000
