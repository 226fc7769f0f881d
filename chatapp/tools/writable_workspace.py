"""The same folder for tools that write: a file is there whole, or as it was before.

Nothing is written into a ``.git`` folder: what lies there runs with the user's next command.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator

from chatapp.agent.errors import ToolError
from chatapp.tools.workspace import MAX_FILE, Workspace, explained, open_in, quote, show_size

# Names of folders in which nothing is written, whatever case a disk ignores.
_KEPT = frozenset({".git", ".hg", ".svn"})

# Bytes of one name.
_MAX_NAME = 255

_REASONS = {
    errno.EACCES: "The server is not allowed to write {}.",
    errno.EPERM: "The server is not allowed to write {}.",
    errno.EROFS: "The server is not allowed to write {}.",
    errno.ENOSPC: "There is no room left on the disk for {}.",
    errno.EDQUOT: "There is no room left on the disk for {}.",
}


class WritableWorkspace(Workspace):
    """Reads and writes files below ``root``; every failure is a ToolError."""

    def write_bytes(self, path: str, data: bytes) -> bool:
        """Replace or make a file, and the folders it lies in; return whether it was there."""
        if len(data) > MAX_FILE:
            size = show_size(len(data))
            raise ToolError(f"This is {size}; files over {show_size(MAX_FILE)} are not written.")
        with explained(path, _REASONS):
            *folders, name = _checked(path, self.locate(path))
            with self._folder(folders) as folder:
                mode = _mode_of(folder, name, path)
                _replace(folder, name, data, mode)
        return mode is not None

    def check(self, path: str) -> None:
        """Raise ToolError where nothing may be written under this path."""
        with explained(path, _REASONS):
            _checked(path, self.locate(path))

    @contextlib.contextmanager
    def _folder(self, names: list[str]) -> Iterator[int]:
        """Open a folder below the root, made where it is missing; follows no link."""
        self.root.mkdir(parents=True, exist_ok=True)
        found = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in names:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=found)
                inner = open_in(found, name)
                os.close(found)
                found = inner
            yield found
        finally:
            os.close(found)


def _checked(path: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that lead to a file to write; raise ToolError where none may be."""
    if not names:
        raise ToolError(f"{quote(path)} is a folder, not a file.")
    for name in names:
        if not name.isprintable() or name != name.strip():
            raise ToolError(f"The name {quote(name)} has characters that no file should have.")
        if len(os.fsencode(name)) > _MAX_NAME:
            raise ToolError(f"The path {quote(path)} is too long.")
        if name.casefold() in _KEPT:
            raise ToolError(f"{quote(name)} belongs to version control; nothing is written.")
    return names


def _mode_of(folder: int, name: str, path: str) -> int | None:
    """Return the permissions of the file that is there, None where there is none."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise ToolError(f"{quote(path)} is a folder, not a file.")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{quote(path)} is not a file that can be written.")
    return stat.S_IMODE(mode)


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    """Write beside the file and put it in its place, which no reader sees half done."""
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
