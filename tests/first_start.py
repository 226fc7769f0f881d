"""Folders that a run makes once: a server's as its first start leaves it, and what others need."""

import fcntl
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path

from chatapp.project.static_files import _state
from tests.processes import started


class Once:
    """Makes folders in ``place`` that all processes of a run share, or all runs."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def make(self, name: str, make: Callable[[Path], object]) -> Path:
        """Return a folder that the first process that asks for it makes for all of them."""
        made = self.place / name
        with (self.place / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                draft = self.place / f"{name}-draft"
                # A run that was killed has left it.
                shutil.rmtree(draft, ignore_errors=True)
                make(draft)
                draft.rename(made)
        return made


class FirstStart:
    """A folder with a database that is migrated and static files that are collected.

    Both take seconds of the processor, of which each further start is spared. The first is spared
    the migrations of a database in ``migrated``, where there is one, and the files that are
    ``kept`` from an earlier run.

    It is in the poorest environment: a locale that knows no umlaut, and a /tmp that is not there.
    """

    def __init__(self, once: Once, migrated: Path, kept: Once) -> None:
        self.once, self._migrated, self._kept = once.make, migrated, kept
        self.data = once.make("first-start", self._start)

    @property
    def link(self) -> str:
        """The line that the server printed at its first start."""
        return (self.data / "first-link").read_text()

    def copy(self, data: Path) -> Path:
        """Put it into a folder, as the one that a server was started in before; return that."""
        return Path(shutil.copytree(self.data, data, dirs_exist_ok=True))

    def _start(self, data: Path) -> None:
        shutil.copytree(self._migrated, data)
        name = f"static-{_state()}"
        if (collected := self._kept.place / name).exists():
            shutil.copytree(collected, data / "static")
        poor = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "TMPDIR": "/nowhere"}
        with started("manage.py", "serve", DATA_DIR=str(data), PORT="0", **poor) as (_pid, link):
            assert link, "the server did not start"
            # From its first answer on it ends in order.
            urllib.request.urlopen(f"{link.partition('/sign-in')[0]}/healthz").close()
        (data / "first-link").write_text(f"{link}\n")
        self._kept.make(name, lambda draft: shutil.copytree(data / "static", draft))
