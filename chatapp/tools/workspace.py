"""Workspace: the folder that tools read and write; no path of a model leads out of it.

A path is resolved first, so that links within the folder work, and then opened part by part
without following links, so that a link put there in between leads nowhere. The folder itself is
opened in the same way each time, so no part of its path may be a link.

A name may hold any byte but a slash and NUL. Paths that come out of here can be written on one
line: an odd byte is ``%`` with two hexadecimal digits, and so is a ``%`` that would pass for one.
Paths that go in are read in the same way.

A file that is written is there whole, or as it was before. Nothing is written into a ``.git``
folder: its hooks run with the user's next command.
"""

import contextlib
import errno
import itertools
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote_to_bytes

from chatapp.agent.errors import ToolError
from chatapp.tools.text_encodings import decode
from condense import noop, open_folder, say

# Bytes; larger files are refused before anything is read.
MAX_FILE = 10 * 1024 * 1024

# Levels below the folder that is walked, and entries of one folder.
MAX_FOLDER_DEPTH = 40
MAX_ENTRIES = 20_000

# Folders that are not walked into unless they are named: thousands of files nobody wrote.
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})

# Characters; resolving a path takes time that grows with the square of its length.
_MAX_PATH = 4_096

# Names of folders in which nothing is written, in upper or lower case.
_KEPT = frozenset({".git", ".hg", ".svn"})

# Bytes of one name.
_MAX_NAME = 255

_SHOWN = 200  # characters of a path that are repeated in an error

_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")

IS_FOLDER = noop("{path} is a folder, not a file.")
TOO_LONG = noop("The path {path} is too long.")
UNUSABLE = noop("{path} can't be used.")
_DENIED, _FULL = (errno.EACCES, errno.EPERM), (errno.ENOSPC, errno.EDQUOT)
_REASONS = {
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), noop("There is no file or folder {path}.")),
    **dict.fromkeys(_DENIED, noop("The server is not allowed to read {path}.")),
    errno.ELOOP: noop("The link {path} does not lead to a file in the workspace."),
    errno.ENAMETOOLONG: TOO_LONG,
    **dict.fromkeys((errno.ENODEV, errno.ENXIO), noop("{path} is neither a file nor a folder.")),
}
_WRITE_REASONS = {
    **dict.fromkeys((*_DENIED, errno.EROFS), noop("The server is not allowed to write {path}.")),
    **dict.fromkeys(_FULL, noop("There is no room left on the disk for {path}.")),
}

# Returns True for a folder's path, with a slash, that is not walked into.
_Without = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """Something in a folder."""

    path: str  # from the workspace
    kind: str  # "file", "folder", "link" or "other"
    size: int  # bytes
    closed: bool = False  # a folder, or the rest of one, that was not walked


class Workspace:
    """Reads files and folders below ``root``; every failure is a ToolError.

    Errors name a path as it was given, never its place on this machine.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def read_bytes(self, path: str) -> bytes:
        """Return a whole file of at most ``MAX_FILE`` bytes."""
        with explained(path), self._opened(self.locate(path)) as found:
            info = os.fstat(found)
            if stat.S_ISDIR(info.st_mode):
                raise ToolError(IS_FOLDER.format(path=quote(path)))
            if info.st_size > MAX_FILE:
                said = noop("{path} has {size}; files over {most} are not read.")
                sizes = {"size": show_size(info.st_size), "most": show_size(MAX_FILE)}
                raise ToolError(said.format(path=quote(path), **sizes))
            with open(found, "rb", closefd=False) as file:
                return file.read(MAX_FILE)

    def read_text(self, path: str) -> str:
        """Return a whole text file; its lines end with a newline only."""
        return self.read_encoded(path)[0].replace("\r\n", "\n")

    def read_encoded(self, path: str) -> tuple[str, str, str]:
        """Return a whole text file as it is, with its encoding as ``decode`` returns it."""
        try:
            return decode(self.read_bytes(path))
        except UnicodeError as error:
            raise ToolError(say("{path} is not a text file.", path=quote(path))) from error

    def holds(self, path: str) -> bool:
        """Return True if something below the root can be opened under this path."""
        with contextlib.suppress(ToolError), explained(path), self._opened(self.locate(path)):
            return True
        return False

    def walk(
        self, path: str = ".", *, recursive: bool = True, without: _Without = lambda _path: False
    ) -> Iterator[FolderEntry]:
        """Yield the entries of a folder and below, sorted by name; a file yields itself.

        Folders for which ``without`` is true are not walked, nor those that are always skipped.
        """
        with explained(path):
            names = self.locate(path)
            here = "/".join(map(_written, names))
            with self._opened(names) as found:
                info = os.fstat(found)
                if stat.S_ISDIR(info.st_mode):
                    yield from _walk(found, here, MAX_FOLDER_DEPTH if recursive else 0, without)
                else:
                    yield FolderEntry(here, "file", info.st_size)

    def locate(self, path: str) -> tuple[str, ...]:
        """Return the names that lead from the root to the path's target."""
        if len(path) > _MAX_PATH:
            raise ToolError(TOO_LONG.format(path=quote(path)))
        root = found = self.root
        # Read with its escapes first; if there is no such file, as it stands.
        for meant in (os.fsdecode(unquote_to_bytes(path)) if "%" in path else path, path):
            if "\0" in meant:
                raise ToolError(say("The path {path} contains a NUL character.", path=quote(path)))
            found = (root / meant).resolve()
            if Path(meant).is_absolute() or not found.is_relative_to(root):
                said = noop("{path} is outside the workspace; paths are relative to it.")
                raise ToolError(said.format(path=quote(path)))
            if os.path.lexists(found):
                break
        return found.relative_to(root).parts

    @contextlib.contextmanager
    def _opened(self, names: Sequence[str]) -> Iterator[int]:
        """Open a file or folder below the root, following no link on the way."""
        with open_folder(self.root.joinpath(*names[:-1])) as folder:
            found = open_in(folder, names[-1] if names else ".")
        try:
            yield found
        finally:
            os.close(found)


class WritableWorkspace(Workspace):
    """Writes files below ``root``, too; every failure is a ToolError."""

    def write_bytes(self, path: str, data: bytes) -> bool:
        """Write a file, and make its folders; return True if it existed."""
        if len(data) > MAX_FILE:
            size, most = show_size(len(data)), show_size(MAX_FILE)
            said = say("This is {size}; files over {most} are not written.", size=size, most=most)
            raise ToolError(said)
        with explained(path, _WRITE_REASONS):
            *folders, name = _checked(path, self.locate(path))
            with open_folder(self.root.joinpath(*folders), make=True) as folder:
                mode = None
                with contextlib.suppress(FileNotFoundError):
                    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if mode is not None and stat.S_ISDIR(mode):
                    raise ToolError(IS_FOLDER.format(path=quote(path)))
                if mode is not None and not stat.S_ISREG(mode):
                    said = noop("{path} is not a file that can be written.")
                    raise ToolError(said.format(path=quote(path)))
                _replace(folder, name, data, mode)
        return mode is not None

    def remove(self, path: str) -> None:
        """Remove a file, or a link as such."""
        with explained(path, _WRITE_REASONS):
            *folders, name = _checked(path, self.locate(path))
            with open_folder(self.root.joinpath(*folders)) as folder:
                os.unlink(name, dir_fd=folder)

    def check(self, path: str) -> None:
        """Raise ToolError if this path may not be written."""
        with explained(path, _WRITE_REASONS):
            _checked(path, self.locate(path))


def quote(name: str) -> str:
    """Return a name for a sentence: short, on one line, with every odd character visible."""
    short = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
    return json.dumps(short, ensure_ascii=not short.isprintable())


def _written(name: str) -> str:
    """Return a name as it can be written: on one line, in UTF-8, every odd byte visible."""
    if name.isprintable() and not _ESCAPE.search(name):
        return name
    return "".join(
        one
        if one.isprintable() and one != "%"
        else "".join(f"%{byte:02X}" for byte in os.fsencode(one))
        for one in name
    )


def show_size(size: int) -> str:
    """Return a number of bytes in words, rounded up."""
    for unit in ("bytes", "KB", "MB"):
        if size < 1024:  # noqa: PLR2004 - bytes in a KB
            return f"{size:,} {unit}"
        size = -(-size // 1024)
    return f"{size:,} GB"


def open_in(folder: int, name: str) -> int:
    """Open a file or folder by its name in a folder; opening a device could start something."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
        raise OSError(errno.ENODEV, "not a file")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    found = os.open(name, flags, dir_fd=folder)
    mode = os.fstat(found).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(found)
        raise OSError(errno.ENODEV, "not a file")
    return found


def _walk(folder: int, path: str, depth: int, without: _Without) -> Iterator[FolderEntry]:
    with os.scandir(folder) as scan:
        names = sorted([one.name for one in itertools.islice(scan, MAX_ENTRIES)])
        is_cut = next(scan, None) is not None
    for name in names:
        inner = f"{path}/{_written(name)}" if path else _written(name)
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue
        if not stat.S_ISDIR(info.st_mode):
            is_link = stat.S_ISLNK(info.st_mode)
            kind = "file" if stat.S_ISREG(info.st_mode) else "link" if is_link else "other"
            yield FolderEntry(inner, kind, info.st_size)
            continue
        found = -1
        if depth > 0 and name not in SKIPPED and not without(f"{inner}/"):
            with contextlib.suppress(OSError):
                found = open_in(folder, name)
        yield FolderEntry(inner, "folder", 0, closed=found < 0)
        if found >= 0:
            try:
                yield from _walk(found, inner, depth - 1, without)
            finally:
                os.close(found)
    if is_cut:
        yield FolderEntry(f"{path}/…".lstrip("/"), "folder", 0, closed=True)


@contextlib.contextmanager
def explained(path: str, reasons: Mapping[int, str] = MappingProxyType({})) -> Iterator[None]:
    """Turn an error of the operating system into a sentence about the path as it was given.

    These ``reasons`` go before those for reading.
    """
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        reason = reasons.get(number) or _REASONS.get(number, UNUSABLE)
        raise ToolError(reason.format(path=quote(path))) from error
    except (UnicodeError, ValueError, RecursionError) as error:
        raise ToolError(say("{path} is not a path.", path=quote(path))) from error


def _checked(path: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that lead to a file; raise ToolError if it may not be written."""
    if not names:
        raise ToolError(IS_FOLDER.format(path=quote(path)))
    for name in names:
        if not name.isprintable() or name != name.strip():
            said = noop("The name {name} has characters that no file should have.")
            raise ToolError(said.format(name=quote(name)))
        if len(os.fsencode(name)) > _MAX_NAME:
            raise ToolError(TOO_LONG.format(path=quote(path)))
        if name.casefold() in _KEPT:
            said = noop("{name} belongs to version control; nothing is written.")
            raise ToolError(said.format(name=quote(name)))
    return names


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    """Write a temporary file and rename it, so that no reader sees half of it."""
    beside = f".{secrets.token_hex(8)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    found = os.open(beside, flags, 0o666, dir_fd=folder)
    try:
        with os.fdopen(found, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode & 0o777)
            file.write(data)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)
        raise
