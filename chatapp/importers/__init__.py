"""Importers of recorded conversations, one file per format and named after it.

A format is a file of this folder with three things; nothing else names it. ``LABEL`` is what people
call it. ``recognise`` tells whether a file with this sample at its beginning is of this format.
``read_transcript`` yields the messages of a path in order, and what could not be used; it raises
OSError without a file, and Unusable where nothing of it can be imported.
"""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from chatapp.transfer.transcript_files import take_sample

UNKNOWN = "This is no file of a form that is known here."

# What others begin with as well is asked last.
LAST = "messages"


def list_formats() -> list[str]:
    """Return the names of all formats."""
    return [found.name for found in iter_modules(__path__)]


def load_importer(name: str) -> ModuleType:
    """Return the importer of a format by its name."""
    return import_module(f"{__name__}.{name}")


def recognise(path: Path) -> str | None:
    """Return the format of a file or of a task's folder by its name, None where none is known."""
    sample = take_sample(path)
    names = sorted(list_formats(), key=lambda name: name == LAST)
    return next((name for name in names if load_importer(name).recognise(sample)), None)
