"""A folder that tools may read, and that no path a model writes can lead out of.

A path is resolved first, so that links within the folder work, and then opened part by part
without following links, so that a link put there in between leads nowhere.

A name may hold any byte but a slash and NUL. Paths that come out of here can be written on one
line: an odd byte is ``%`` with two hexadecimal digits, and so is a ``%`` that would pass for one.
Paths that go in are read in the same way.
"""

import contextlib
import errno
import itertools
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from chatapp.agent.errors import ToolError

# Bytes; larger files are refused before anything is read.
MAX_FILE = 10 * 1024 * 1024

# Levels below the folder that is walked, and entries of one folder.
MAX_DEPTH = 40
MAX_ENTRIES = 20_000

# Folders that are not walked into unless they are named: thousands of files nobody wrote.
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})

# Characters; resolving a path takes time that grows with the square of its length.
_MAX_PATH = 4_096

_SHOWN = 200  # characters of a path that are repeated in an error

_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")

_REASONS = {
    errno.ENOENT: "There is no file or folder {}.",
    errno.ENOTDIR: "There is no file or folder {}.",
    errno.EACCES: "The server is not allowed to read {}.",
    errno.EPERM: "The server is not allowed to read {}.",
    errno.ELOOP: "The link {} does not lead to a file in the workspace.",
    errno.ENAMETOOLONG: "The path {} is too long.",
    errno.ENODEV: "{} is neither a file nor a folder.",
    errno.ENXIO: "{} is neither a file nor a folder.",
}
_NO_OTHERS: Mapping[int, str] = {}

# Says of a folder's path, with a slash, whether it is not walked into.
_Without = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder; ``path`` leads there from the workspace, ``size`` is in bytes.

    ``kind`` is "file", "folder", "link" or "other"; ``closed`` says that a folder was not walked.
    """

    path: str
    kind: str
    size: int
    closed: bool = False


class Workspace:
    """Reads files and folders below ``root``; every failure is a ToolError.

    Errors name a path as it was given, never where it is on this machine.
    """

    def __init__(self, root: Path) -> None:
        """Remember where the folder is."""
        self.root = root

    def read_bytes(self, path: str) -> bytes:
        """Return a whole file of at most ``MAX_FILE`` bytes."""
        with explained(path), self._opened(path) as found:
            info = os.fstat(found)
            if stat.S_ISDIR(info.st_mode):
                raise ToolError(f"{quote(path)} is a folder, not a file.")
            if info.st_size > MAX_FILE:
                raise ToolError(
                    f"{quote(path)} has {show_size(info.st_size)}; "
                    f"files over {show_size(MAX_FILE)} are not read."
                )
            with open(found, "rb", closefd=False) as file:
                return file.read(MAX_FILE)

    def read_text(self, path: str) -> str:
        """Return a whole text file; lines end with a newline, whatever they ended with."""
        return as_text(path, self.read_bytes(path))

    def holds(self, path: str) -> bool:
        """Whether something below the root can be opened under this path."""
        try:
            with explained(path), self._opened(path):
                return True
        except ToolError:
            return False

    def walk(
        self, path: str = ".", *, recursive: bool = True, without: _Without = lambda _path: False
    ) -> Iterator[Entry]:
        """Yield what is in a folder and below, sorted by name; a file yields itself.

        Folders for which ``without`` is true are not walked, as those that are skipped anyway.
        """
        with explained(path):
            here = "/".join(map(_written, self.locate(path)))
            with self._opened(path) as found:
                info = os.fstat(found)
                if stat.S_ISDIR(info.st_mode):
                    yield from _walk(found, here, MAX_DEPTH if recursive else 0, without)
                else:
                    yield Entry(here, "file", info.st_size)

    def locate(self, path: str) -> tuple[str, ...]:
        """Return the names that lead from the root to what the path means."""
        if len(path) > _MAX_PATH:
            raise ToolError(f"The path {quote(path)} is too long.")
        root = self.root.resolve()
        found = _resolve(root, path, _meant_by(path))
        if not os.path.lexists(found):
            # Nobody but these tools writes a name in this way.
            found = _resolve(root, path, path)
        return found.relative_to(root).parts

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        """Open a file or folder below the root, following no link on the way."""
        found = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in self.locate(path):
                inner = open_in(found, part)
                os.close(found)
                found = inner
            yield found
        finally:
            os.close(found)


def quote(name: str) -> str:
    """Return a name for a sentence: short, on one line, with every odd character visible."""
    short = name if len(name) <= _SHOWN else name[:_SHOWN] + "…"
    return json.dumps(short, ensure_ascii=not short.isprintable())


def _resolve(root: Path, path: str, meant: str) -> Path:
    """Return where ``path`` leads if ``meant`` is how it is read; raise ToolError if outside."""
    if "\0" in meant:
        raise ToolError(f"The path {quote(path)} contains a NUL character.")
    found = (root / meant).resolve()
    if Path(meant).is_absolute() or not found.is_relative_to(root):
        raise ToolError(f"{quote(path)} is outside the workspace; paths are relative to it.")
    return found


def _written(name: str) -> str:
    """Return a name as it can be written: on one line, in UTF-8, every odd byte visible."""
    if name.isprintable() and not _ESCAPE.search(name):
        return name
    return "".join(one if one.isprintable() and one != "%" else _escape(one) for one in name)


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in os.fsencode(character))


def _meant_by(path: str) -> str:
    """Return the path that was written as this one."""
    return os.fsdecode(unquote_to_bytes(path)) if "%" in path else path


def show_size(size: int) -> str:
    """Return a number of bytes in words, rounded up."""
    for unit in ("bytes", "KB", "MB"):
        if size < 1024:  # noqa: PLR2004 - bytes in a KB
            return f"{size:,} {unit}"
        size = -(-size // 1024)
    return f"{size:,} GB"


def as_text(path: str, data: bytes) -> str:
    """Return what a text file says, with plain newlines; raise ToolError for any other."""
    if not is_text(data):
        raise ToolError(f"{quote(path)} is not a UTF-8 text file.")
    return data.decode("utf-8-sig").replace("\r\n", "\n")


def is_text(data: bytes) -> bool:
    """Whether this is UTF-8 without NUL bytes."""
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


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


def _walk(folder: int, path: str, depth: int, without: _Without) -> Iterator[Entry]:
    with os.scandir(folder) as scan:
        names = sorted(one.name for one in itertools.islice(scan, MAX_ENTRIES))
    for name in names:
        inner = f"{path}/{_written(name)}" if path else _written(name)
        with contextlib.suppress(FileNotFoundError):
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(info.st_mode):
                yield from _walk_into(folder, name, inner, depth, without)
            else:
                yield Entry(inner, _kind_of(info.st_mode), info.st_size)


def _walk_into(folder: int, name: str, path: str, depth: int, without: _Without) -> Iterator[Entry]:
    if depth == 0 or name in SKIPPED or without(f"{path}/"):
        yield Entry(path, "folder", 0, closed=True)
        return
    try:
        found = open_in(folder, name)
    except OSError:
        yield Entry(path, "folder", 0, closed=True)
        return
    try:
        yield Entry(path, "folder", 0)
        yield from _walk(found, path, depth - 1, without)
    finally:
        os.close(found)


def _kind_of(mode: int) -> str:
    return "file" if stat.S_ISREG(mode) else "link" if stat.S_ISLNK(mode) else "other"


@contextlib.contextmanager
def explained(path: str, reasons: Mapping[int, str] = _NO_OTHERS) -> Iterator[None]:
    """Turn an error of the operating system into a sentence about the path as it was given.

    These ``reasons`` go before those for reading.
    """
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        reason = reasons.get(number) or _REASONS.get(number, "{} can't be used.")
        raise ToolError(reason.format(quote(path))) from error
    except (UnicodeError, ValueError, RecursionError) as error:
        raise ToolError(f"{quote(path)} is not a path.") from error
