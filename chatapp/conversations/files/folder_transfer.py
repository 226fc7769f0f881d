"""Files of a workspace: put there by people, one by one or as an archive, and taken out again.

An archive is as hostile as a path that a model writes: each entry goes through the same checks,
links and devices are left out, and all unpacked bytes count, of files that are left out, too.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings

from chatapp.agent.errors import ToolError
from chatapp.models.errors import Refused
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _
from chatapp.tools.workspace import MAX_FILE, FolderEntry, Workspace, WritableWorkspace

# Files of one upload, bytes of all of them, and files that are listed or packed.
MAX_FILES = settings.DATA_UPLOAD_MAX_NUMBER_FILES
MAX_TRANSFER_BYTES = 200 * 1024 * 1024
MAX_LISTED = 5_000

# Entries of archives, with the folders and links that are left out.
_MAX_ENTRIES = 4 * MAX_FILES
# Unpacked bytes of a tar archive's headers for one entry, and bytes of a zip's table of contents.
_MAX_HEADERS = 1024 * 1024
_MAX_CONTENTS = MAX_FILE + 1
# Packed bytes that are unpacked at once: bzip2 and LZMA make a thousand times as many of them.
_PIECE = 4_096

_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Imported:
    """The number of files put into a workspace, and each one left out with the reason."""

    count: int
    left_out: list[tuple[str, str]]


def too_much() -> Refused:
    """Return the refusal of an upload that is too large."""
    words = _(
        "This is too much at once: at most {files:,} files and {size:,} MB.",
        files=MAX_FILES,
        size=MAX_TRANSFER_BYTES // 1024**2,
    )
    return Refused(words)


@dataclass(slots=True)
class _Total:
    """The sums of an upload so far."""

    files: int = 0
    entries: int = 0
    size: int = 0

    def add(self, *, files: int = 0, entries: int = 0, size: int = 0) -> None:
        """Add to the sums; refused beyond the limits of an upload."""
        self.files += files
        self.entries += entries
        self.size += size
        if self.files > MAX_FILES or self.entries > _MAX_ENTRIES or self.size > MAX_TRANSFER_BYTES:
            raise too_much()


def import_files(*, folder: Path, files: Iterable[tuple[str, IO[bytes]]]) -> Imported:
    """Put files into a workspace under their paths; archives are unpacked.

    Refused beyond the limits of an upload; files that were put there by then stay.
    """
    workspace, total, left_out = WritableWorkspace(folder), _Total(), list[tuple[str, str]]()
    for path, data in _unpacked(files, total):
        total.add(files=1)
        try:
            workspace.write_bytes(path, data)
        except ToolError as error:
            left_out.append((path, str(error)))
    return Imported(total.files - len(left_out), left_out)


def _unpacked(files: Iterable[tuple[str, IO[bytes]]], total: _Total) -> Iterator[tuple[str, bytes]]:
    for name, file in files:
        if not name.lower().endswith(_ARCHIVES):
            data = file.read(MAX_FILE + 1)
            total.add(size=len(data))
            yield name, data
            continue
        unpack = _from_zip if name.lower().endswith(".zip") else _from_tar
        try:
            yield from unpack(file, total)
        except _DAMAGED as error:
            raise Refused(_("“{name}” can't be read as an archive.", name=name[:100])) from error
        except (NotImplementedError, RuntimeError) as error:
            words = _("“{name}” is locked, or packed in an unknown way.", name=name[:100])
            raise Refused(words) from error


class _Bounded:
    """A file of which no more than ``left`` bytes may be read before that is set anew."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self.left = left
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; refused beyond the limit."""
        data = self._file.read(min(size, self.left + 1) if size >= 0 else self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise too_much()
        return data


def _from_zip(file: IO[bytes], total: _Total) -> Iterator[tuple[str, bytes]]:
    bounded: Any = _Bounded(file, _MAX_CONTENTS)
    with zipfile.ZipFile(bounded) as archive:
        bounded.left = MAX_TRANSFER_BYTES
        for info in archive.infolist():
            total.add(entries=1)
            # The upper half has the file's type where a Unix packed it: a link is 0o12.
            kind = info.external_attr >> 28
            if not info.is_dir() and kind in {0, 0o10}:
                # Read until it is larger than a file may be: the size in the archive may be wrong.
                data = bytearray()
                with archive.open(info) as entry:
                    while len(data) <= MAX_FILE and (piece := entry.read(_PIECE)):
                        data += piece
                total.add(size=len(data))
                yield info.filename, bytes(data)


def _from_tar(file: IO[bytes], total: _Total) -> Iterator[tuple[str, bytes]]:
    begins = file.read(max(map(len, _OPENERS)))
    file.seek(0)
    opener = next((one for mark, one in _OPENERS.items() if begins.startswith(mark)), None)
    bounded: Any = _Bounded(opener(file) if opener else file, _MAX_HEADERS)
    with tarfile.open(fileobj=bounded, mode="r|") as archive:
        while info := archive.next():
            # Headers for all entries would be read again for each of them.
            cast("dict[str, str]", archive.pax_headers).clear()
            total.add(entries=1, size=abs(info.size))
            bounded.left = abs(info.size) + _MAX_HEADERS
            if info.isreg() and (entry := archive.extractfile(info)):
                yield info.name, entry.read(MAX_FILE + 1)
                while entry.read(_MAX_HEADERS):
                    pass
            bounded.left = _MAX_HEADERS


def list_files(workspace: Workspace) -> tuple[list[FolderEntry], bool]:
    """Return the files among the first ``MAX_LISTED`` entries, and True if there are more."""
    found = list[FolderEntry]()
    with suppress(ToolError):
        found += islice(workspace.walk("."), MAX_LISTED + 1)
    return [one for one in found[:MAX_LISTED] if one.kind == "file"], len(found) > MAX_LISTED


def pack_workspace(folder: Path) -> bytes:
    """Return the files of a workspace as a zip, and the reason in place of an unreadable file.

    Refused if they are too large or too many.
    """
    workspace, packed, size = Workspace(folder), io.BytesIO(), 0
    files, more = list_files(workspace)
    if more:
        raise too_much()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in files:
            try:
                name, data = entry.path, workspace.read_bytes(entry.path)
            except ToolError as error:
                name, data = f"{entry.path}.left-out.txt", in_words(str(error)).encode()
            size += len(data)
            if size > MAX_TRANSFER_BYTES:
                raise Refused(
                    _("The files are too large for one download. Download them one by one.")
                )
            archive.writestr(name, data)
    return packed.getvalue()
