"""Readers of recorded conversations, one file per format and named after it.

A format is a file of this folder with a ``read_transcript``; nothing else names it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, cast


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be used: the ``index`` of the item, from 1, and the reason as a sentence."""

    index: int
    reason: str


# ``{"role": …, "content": …}`` as condense.Message.from_api takes it, with ``"pinned": True`` where
# the message is, or what was wrong.
TranscriptItem = dict[str, Any] | Problem


class Importer(Protocol):
    """What a format's file holds."""

    def read_transcript(self, path: Path, /) -> Iterator[TranscriptItem]:
        """Yield messages in order, and what could not be used; raise OSError without a file."""
        ...


def list_formats() -> list[str]:
    """Return the names of all formats."""
    return [found.name for found in iter_modules(__path__)]


def load_importer(name: str) -> Importer:
    """Return the reader of a format by its name."""
    return cast(Importer, import_module(f"{__name__}.{name}"))
