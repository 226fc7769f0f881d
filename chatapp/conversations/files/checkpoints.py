"""Snapshots of a workspace's files: taken before they are changed, and restored on request.

They are commits of a repository of the server's own, one for each folder; a ``.git`` of the user's
is neither used nor touched. Git's own changes to files (line ends, filters, hooks, ignore rules)
are switched off: a file comes back with the bytes that it had.
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from chatapp.models.errors import CheckpointFailed
from chatapp.tools.shell import sandboxed, way_to
from chatapp.tools.workspace import SKIPPED
from condense import open_folder

log = logging.getLogger(__name__)

# Seconds for one command of git.
GIT_TIMEOUT = 60

# Characters of a difference that are shown.
MAX_SHOWN = 100_000

_COMMIT = re.compile("[0-9a-f]{40}")
# Git attributes that count before those of files in the folder.
_ATTRIBUTES = "* -text -ident -eol -filter -working-tree-encoding !diff\n"
_WHO = {"NAME": "Palimpsest", "EMAIL": "nobody@localhost", "DATE": "2000-01-01T00:00:00Z"}
_NOBODY = {
    f"GIT_{role}_{key}": one for key, one in _WHO.items() for role in ("AUTHOR", "COMMITTER")
}
_SWITCHED_OFF = (
    *("-c", "core.autocrlf=false", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "gc.auto=0", "-c", "core.quotePath=false", "-c", "core.fileMode=true"),
    *("-c", "advice.addEmbeddedRepo=false", "-c", "core.attributesFile=/dev/null"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """A file's change: the numbers of lines added and removed, None unless it is text."""

    path: str
    added: int | None
    removed: int | None


class Checkpoints:
    """The snapshots of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:32]
        self.repository = Path(settings.DATA_DIR) / "checkpoints" / name

    @staticmethod
    def repositories_of(folders: Collection[Path]) -> Iterator[Path]:
        """Yield the repositories of these folders, and of all past folders below them."""
        places = {folder.resolve() for folder in folders}
        for repository in (Path(settings.DATA_DIR) / "checkpoints").glob("*"):
            asked = ["git", "config", "--file", str(repository / "config"), "core.worktree"]
            said = subprocess.run(asked, capture_output=True, check=False, timeout=GIT_TIMEOUT)  # noqa: S603 - git, with arguments of our own
            of = Path(os.fsdecode(said.stdout.removesuffix(b"\n")))
            if not places.isdisjoint((of, *of.parents)):
                yield repository

    @staticmethod
    def are_possible() -> bool:
        """Return True if git is installed on this server."""
        return shutil.which("git") is not None

    def take(self) -> str:
        """Store the files and return the snapshot's name; raise CheckpointFailed."""
        with self._locked():
            return self._take()

    def restore(self, name: str) -> str:
        """Restore the files of a snapshot, and return a snapshot of the replaced ones."""
        with self._locked():
            now = self._take()
            self._git("read-tree", "--reset", "-u", _checked(name))
            return now

    def changes(self, name: str) -> tuple[list[Change], str]:
        """Return the changes of restoring a snapshot: by file, and as a diff."""
        with self._locked():
            between = (self._take(), _checked(name))
            plain = ("--no-ext-diff", "--no-textconv", "--no-renames", "--text")
            counted = self._git("diff", "--numstat", "-z", *plain[:-1], *between)
            shown = self._git("diff", "--no-color", *plain, *between)
        changes = []
        for line in filter(None, counted.split("\0")):
            added, removed, path = line.split("\t", 2)
            numbers = [int(one) if one.isdecimal() else None for one in (added, removed)]
            changes.append(Change(path, *numbers))
        if (rest := len(shown) - MAX_SHOWN) > 0:
            shown = f"{shown[:MAX_SHOWN]}\n[{rest:,} more characters of the difference.]\n"
        return changes, shown

    def _take(self) -> str:
        left_out = [f":(exclude,glob)**/{one}/**" for one in sorted(SKIPPED)]
        self._git("add", "--all", "--force", "--", ".", *left_out)
        tree = self._git("write-tree").strip()
        return self._git("commit-tree", "-m", "checkpoint", tree).strip()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the repository for one user at a time; make it if it is missing."""
        self.repository.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.repository / "palimpsest.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (self.repository / "HEAD").exists():
                self._git("init", "--quiet", "--template=")
                (self.repository / "info").mkdir(exist_ok=True)
                (self.repository / "info" / "attributes").write_text(_ATTRIBUTES)
            # A lock that a killed server left.
            (self.repository / "index.lock").unlink(missing_ok=True)
            yield

    def _git(self, *arguments: str) -> str:
        environment = {
            **_NOBODY,
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_DIR": str(self.repository),
            # The current folder: a path could lead elsewhere by now.
            "GIT_WORK_TREE": ".",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
        }
        try:
            with open_folder(self.folder, make=True) as found:
                sandbox: list[str] = []
                if settings.ALLOW_COMMANDS:
                    # A command may put a link there meanwhile; in a sandbox it leads git nowhere.
                    sandbox = sandboxed(self.folder, found, self.repository)
                done = subprocess.run(  # noqa: S603 - git, with arguments of our own
                    [*sandbox, "git", *_SWITCHED_OFF, *arguments],
                    cwd=way_to(found, self.folder),
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=GIT_TIMEOUT,
                    check=True,
                    pass_fds=(found,),
                )
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", b"") or b""
            raise CheckpointFailed(f"{error}: {said.decode(errors='replace')[:500]}") from error
        return done.stdout.decode(errors="replace")


def _checked(name: str) -> str:
    if not _COMMIT.fullmatch(name):
        raise CheckpointFailed("this is not the name of a snapshot")
    return name
