"""Readers of recorded conversations, one file per form and named after it.

A form is a file of this folder with a ``read_transcript``; nothing else names it.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, cast

from chatapp.exchange import Piece


class Importer(Protocol):
    """What a form's file holds."""

    def read_transcript(self, path: Path, /) -> Iterator[Piece]:
        """Yield messages in order, and what could not be used; raise OSError without a file."""
        ...


def list_formats() -> list[str]:
    """Return the names of all forms."""
    return [found.name for found in iter_modules(__path__)]


def load_importer(name: str) -> Importer:
    """Return the reader of a form by its name."""
    return cast(Importer, import_module(f"{__name__}.{name}"))
