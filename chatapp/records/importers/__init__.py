"""Importers of recorded conversations, one file per format and named after it.

A format is a file of this folder with three things; nothing else names it. ``LABEL`` is its name
for people. ``recognise`` returns True if a file with this sample at its beginning is of this
format. ``read_transcript`` yields the messages of a path in order, and the unusable parts. If files
hold many conversations, there is a ``read_chat`` for one of them instead. ``WHERE`` may describe
the place of such files.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import cast

from django.utils.translation import gettext_lazy

from chatapp.records.transfer import Piece
from chatapp.records.transfer.archives import Archive
from chatapp.records.transfer.chats import read_chats
from chatapp.records.transfer.import_jobs import run_import
from chatapp.records.transfer.transcript_files import Sample, take_sample

UNKNOWN_FORMAT = gettext_lazy("This file's format is not known here.")

# Formats that others begin like are tried last, in this order.
LAST = ("chat_completions", "messages")
# Files of an archive that are looked at.
MOST_SAMPLED = 5


def list_formats() -> list[str]:
    """Return the names of all formats."""
    return [found.name for found in iter_modules(__path__)]


def load_importer(name: str) -> ModuleType:
    """Return the importer of a format by its name."""
    return import_module(f"{__name__}.{name}")


def read_file(form: str, path: Path) -> Iterator[Piece]:
    """Return the pieces of a file; raise OSError without one, and Unusable for an unusable one."""
    found = load_importer(form)
    if hasattr(found, "read_chat"):
        return read_chats(path, found.read_chat)
    return cast(Iterator[Piece], found.read_transcript(path))


async def import_files(run: str) -> None:
    """Import the files of an ``ImportRun``, as a background job."""
    await run_import(run, read_file)


def recognise(path: Path) -> str | None:
    """Return the format's name for a file or a task's folder, None if it is unknown.

    Several files, or those in an archive, are only recognised if a format's files hold many
    conversations. Raises Unusable for an archive that can't be read.
    """
    if found := _recognise(take_sample(path)):
        return found
    with Archive(path) as archive:
        for document in archive.documents[:MOST_SAMPLED]:
            found = _recognise(take_sample(document))
            if found and hasattr(load_importer(found), "read_chat"):
                return found
    return None


def _recognise(sample: Sample) -> str | None:
    names = [*(one for one in list_formats() if one not in LAST), *LAST]
    return next((name for name in names if load_importer(name).recognise(sample)), None)
