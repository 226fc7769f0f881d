"""Files of a workspace: put there by people, one by one or as an archive, and taken out again.

An archive is as hostile as a path that a model writes: each entry goes through the same door, links
and devices are left out, and what it unpacks to has a limit.
"""

import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.utils.translation import gettext as _

from chatapp.agent.errors import ToolError
from chatapp.rendering.numbers import number
from chatapp.services.errors import Refused
from chatapp.tools.workspace import MAX_FILE, Entry, Workspace
from chatapp.tools.writable import WritableWorkspace

# Files of one upload, bytes of all of them, and files that are listed or packed.
MAX_FILES = 5_000
MAX_BYTES = 200 * 1024 * 1024
MAX_LISTED = 5_000

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


@dataclass(frozen=True, slots=True)
class Imported:
    """How many files were put into a workspace, and those that were left out, each with why."""

    count: int
    left_out: list[tuple[str, str]]


def import_files(*, folder: Path, files: Iterable[tuple[str, IO[bytes]]]) -> Imported:
    """Put files into a workspace under their paths; archives are unpacked.

    Refused where there is more than an upload may have; what was put there by then stays.
    """
    workspace = WritableWorkspace(folder)
    count, size, left_out = 0, 0, list[tuple[str, str]]()
    for path, data in _unpacked(files):
        count, size = count + 1, size + len(data)
        if count > MAX_FILES or size > MAX_BYTES:
            raise Refused(
                _("This is too much at once: at most %(files)s files and %(size)s MB.")
                % {"files": number(MAX_FILES), "size": number(MAX_BYTES // 1024**2)}
            )
        try:
            workspace.write_bytes(path, data)
        except ToolError as error:
            left_out.append((path, str(error)))
    return Imported(count - len(left_out), left_out)


def _unpacked(files: Iterable[tuple[str, IO[bytes]]]) -> Iterator[tuple[str, bytes]]:
    for name, file in files:
        if not name.lower().endswith(_ARCHIVES):
            yield name, file.read(MAX_FILE + 1)
            continue
        try:
            yield from _from_zip(file) if name.lower().endswith(".zip") else _from_tar(file)
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, ValueError) as error:
            raise Refused(_("“%s” is no archive that can be read.") % name[:100]) from error
        except (NotImplementedError, RuntimeError) as error:
            raise Refused(_("“%s” is locked, or packed in an unknown way.") % name[:100]) from error


def _from_zip(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            # The upper half has the file's type where a Unix packed it: a link is 0o12.
            kind = info.external_attr >> 28
            if not info.is_dir() and kind in {0, 0o10}:
                with archive.open(info) as entry:
                    # What the archive says of the size may be a lie.
                    yield info.filename, entry.read(MAX_FILE + 1)


def _from_tar(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=file, mode="r|*") as archive:
        for info in archive:
            if info.isreg() and (entry := archive.extractfile(info)):
                yield info.name, entry.read(MAX_FILE + 1)


def list_workspace(folder: Path) -> list[Entry]:
    """Return the files of a workspace, the first of them where there are many."""
    return list(_files(Workspace(folder)))


def _files(workspace: Workspace) -> Iterator[Entry]:
    try:
        for count, entry in enumerate(workspace.walk(".")):
            if count >= MAX_LISTED:
                return
            if entry.kind == "file":
                yield entry
    except ToolError:
        return


def pack_workspace(folder: Path) -> bytes:
    """Return the files of a workspace as a zip; refused where they are too many or too large."""
    workspace, packed, size = Workspace(folder), io.BytesIO(), 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in _files(workspace):
            size += entry.size
            if size > MAX_BYTES:
                raise Refused(_("The files are too large to be packed. Take them one by one."))
            try:
                archive.writestr(entry.path, workspace.read_bytes(entry.path))
            except ToolError:
                continue
    return packed.getvalue()
