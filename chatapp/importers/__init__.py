"""Importers of recorded conversations, one file per format and named after it.

A format is a file of this folder with a ``LABEL``, a ``recognise`` and a ``read_transcript``;
nothing else names it.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, cast

from chatapp.transfer import Piece
from chatapp.transfer.transcript_files import Sample, take_sample

UNKNOWN = "This is no file of a form that is known here."

# What others begin with as well is asked last.
LAST = "messages"


class Importer(Protocol):
    """The module of a format; ``LABEL`` is what people call it."""

    LABEL: str

    def recognise(self, sample: Sample, /) -> bool:
        """Whether a file that begins so is of this format."""
        ...

    def read_transcript(self, path: Path, /) -> Iterator[Piece]:
        """Yield messages in order, and what could not be used.

        Raises OSError without a file, and Unusable where nothing of it can be imported.
        """
        ...


def list_formats() -> list[str]:
    """Return the names of all formats."""
    return [found.name for found in iter_modules(__path__)]


def load_importer(name: str) -> Importer:
    """Return the importer of a format by its name."""
    return cast(Importer, import_module(f"{__name__}.{name}"))


def recognise(path: Path) -> str | None:
    """Return the format of a file or of a task's folder by its name, None where none is known."""
    sample = take_sample(path)
    names = sorted(list_formats(), key=lambda name: name == LAST)
    return next((name for name in names if load_importer(name).recognise(sample)), None)
