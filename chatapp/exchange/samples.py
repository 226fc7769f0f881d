"""The beginning of a file, by which its form is told."""

import json
import zlib
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from chatapp.exchange.files import opened
from chatapp.exchange.pieces import Problem
from chatapp.exchange.streams import read_items

# Items that are looked at, and bytes until the end of the first of them.
LOOKED_AT = 60
BYTES = 1024 * 1024


@dataclass(frozen=True)
class Sample:
    """What a file or a folder begins with.

    ``names`` are those of the files; ``items`` are the first objects of its list or of its lines,
    and ``head`` is the text up to there.
    """

    names: frozenset[str]
    head: str = ""
    items: tuple[dict[str, Any], ...] = field(default=())
    in_lines: bool = False


def take_sample(path: Path) -> Sample:
    """Return what a file or a folder begins with; what can't be read begins with nothing."""
    if path.is_dir():
        return Sample(frozenset(one.name for one in path.iterdir()))
    names = frozenset({path.name})
    try:
        with opened(path) as file:
            head = file.read(BYTES).decode(errors="replace").removeprefix("\ufeff").lstrip()
    except (OSError, EOFError, zlib.error):
        return Sample(names)
    if lines := _lines(head):
        return Sample(names, head, lines, in_lines=True)
    found = [one for one in islice(read_items(path), LOOKED_AT) if not isinstance(one, Problem)]
    return Sample(names, head, tuple(item for _index, item in found if isinstance(item, dict)))


def _lines(head: str) -> tuple[dict[str, Any], ...]:
    """Return the objects of the first lines, nothing where a line is no object by itself."""
    found = []
    for line in islice(filter(str.strip, head.split("\n")), LOOKED_AT):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict) or "messages" in value or "format" in value:
            break
        found.append(value)
    return tuple(found)
