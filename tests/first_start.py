"""Folders as a server's first start leaves them, made once for all tests that start one."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.processes import started


class FirstStart:
    """A folder with a database that is made and static files that are collected.

    Both take five seconds of the processor, of which each further start is spared.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.data = self.once("first-start", self._start)

    @property
    def link(self) -> str:
        """The line that the server printed at its first start."""
        return (self.place / "first-link").read_text()

    def once(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return a folder that the first of the run's processes makes for all of them."""
        made = self.place / name
        with (self.place / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                draft = self.place / f"{name}-draft"
                make(draft)
                draft.rename(made)
        return made

    def copy(self, data: Path) -> Path:
        """Put it into a folder, as the one that a server was started in before; return that."""
        return Path(shutil.copytree(self.data, data, dirs_exist_ok=True))

    def _start(self, data: Path) -> None:
        with started("manage.py", "serve", DATA_DIR=str(data), PORT="0") as (_pid, link):
            assert link, "the server did not start"
            (self.place / "first-link").write_text(f"{link}\n")
