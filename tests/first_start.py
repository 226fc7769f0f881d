"""What a server's first start leaves in its folder, made once for all tests that start one."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


class FirstStart:
    """A folder with a database that is made and static files that are collected.

    Both take five seconds of the processor, of which each further start is spared.
    """

    def __init__(self, place: Path) -> None:
        """Make it in ``place``, unless another of the run's processes has done so."""
        self.data = place / "first-start"
        with (place / "first-start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.data.exists():
                draft = place / "first-start-draft"
                _start(draft)
                draft.rename(self.data)

    def copy(self, data: Path) -> Path:
        """Put it into a folder, as the one that a server was started in before; return that."""
        return Path(shutil.copytree(self.data, data, dirs_exist_ok=True))


def _start(data: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data), "PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        assert server.stdout.readline(), "the server did not start"
        server.terminate()
