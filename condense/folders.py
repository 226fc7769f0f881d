"""Folders: open folders and files without following links."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A folder on the way need not be readable.
_STEP = _FLAGS | getattr(os, "O_PATH", os.O_RDONLY)


@contextmanager
def open_folder(path: str | os.PathLike[str], *, make: bool = False) -> Iterator[int]:
    """Open a folder and yield its descriptor; raise OSError if it is a link or behind one.

    ``make`` creates missing folders.
    """
    root, *names = Path(path).absolute().parts
    found = os.open(root, _STEP)
    try:
        for name in (*names, "."):
            flags = _FLAGS if name == "." else _STEP
            try:
                inner = os.open(name, flags, dir_fd=found)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=found)
                inner = os.open(name, flags, dir_fd=found)
            os.close(found)
            found = inner
        yield found
    finally:
        os.close(found)


def open_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file to be read; raise OSError if it is a link or behind one.

    Opening a pipe does not block.
    """
    folder, name = os.path.split(path)
    with open_folder(folder) as found:

        def opener(name: str, flags: int) -> int:
            return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=found)

        return open(name, "rb", buffering=0, opener=opener)
