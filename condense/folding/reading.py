"""Reads files of a workspace, and only those: nothing outside, ignored, huge or binary."""

import os
import stat
from pathlib import Path

from condense.folding.errors import Unfoldable
from condense.folding.folded import SkipReason
from condense.folding.ignoring import Ignore, read_rules

LARGEST = 1_000_000
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Workspace:
    """A folder whose files may be shown to the model, as far as its ignore rules allow."""

    def __init__(self, root: str | os.PathLike[str], ignore: Ignore | None = None) -> None:
        """Take the folder, and a test for paths to leave out instead of its ``.rooignore``."""
        self.root = os.path.realpath(root)
        self._ignore = ignore or read_rules(Path(self.root))

    def locate(self, path: str) -> str:
        """Return where a path leads, symlinks followed; raise Unfoldable where it may not go."""
        spelled = os.path.normpath(os.path.join(self.root, path))  # noqa: PTH118 - much faster than Path
        try:
            real = os.path.realpath(spelled)
        except (OSError, ValueError):
            raise Unfoldable(SkipReason.UNREADABLE) from None
        if not self._contains(real):
            raise Unfoldable(SkipReason.OUTSIDE)
        # A link may lead from an open name to a closed one, and a closed name to an open one.
        if any(self._ignores(name) for name in {spelled, real}):
            raise Unfoldable(SkipReason.IGNORED)
        return real

    def read(self, real: str) -> bytes:
        """Return the bytes of a located file; raise Unfoldable where they are no source text."""
        try:
            descriptor = os.open(real, _FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            raise Unfoldable(SkipReason.GONE) from None
        except (OSError, ValueError):
            raise Unfoldable(SkipReason.UNREADABLE) from None
        try:
            return _checked(descriptor)
        finally:
            os.close(descriptor)

    def _contains(self, real: str) -> bool:
        return real.startswith(self.root.rstrip("/") + "/")

    def _ignores(self, path: str) -> bool:
        return self._contains(path) and self._ignore(path[len(self.root.rstrip("/")) + 1 :])


def _checked(descriptor: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise Unfoldable(SkipReason.NOT_A_FILE)
    if found.st_size > LARGEST:
        raise Unfoldable(SkipReason.TOO_LARGE)
    try:
        source = os.read(descriptor, LARGEST)
    except OSError:
        raise Unfoldable(SkipReason.UNREADABLE) from None
    if b"\0" in source:
        raise Unfoldable(SkipReason.BINARY)
    return source
