"""Workspace: the files that a model may be shown, none outside, ignored, huge or binary."""

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from condense.errors import SkipReason, Unfoldable
from condense.folders import open_file

RULES = ".rooignore"
LARGEST_FILE = 1_000_000  # bytes, of a source file and of the ignore rules

Ignore = Callable[[str], bool]


class VisibleFolder:
    """A folder whose files may be shown, as far as ``ignore`` or else its rules allow.

    The folder may be no link and lie behind none.
    """

    def __init__(self, root: str | os.PathLike[str], ignore: Ignore | None = None) -> None:
        self._root = os.path.abspath(root).rstrip("/") + "/"  # noqa: PTH100 - as text
        self._ignore = ignore or _read_rules(Path(self._root))

    def locate(self, path: str) -> str:
        """Return the real path of a file, symlinks followed; raise Unfoldable if it is closed."""
        spelled = os.path.normpath(os.path.join(self._root, path))  # noqa: PTH118 - much faster than Path
        try:
            real = os.path.realpath(spelled)
        except (OSError, ValueError):
            raise Unfoldable(SkipReason.UNREADABLE) from None
        if not real.startswith(self._root):
            raise Unfoldable(SkipReason.OUTSIDE)
        # A link may lead from an open name to a closed one, and a closed name to an open one.
        inside = [name for name in {spelled, real} if name.startswith(self._root)]
        if any(self._ignore(name.removeprefix(self._root)) for name in inside):
            raise Unfoldable(SkipReason.IGNORED)
        return real

    def read(self, real: str) -> bytes:
        """Return the bytes of a located file; raise Unfoldable if they are no source text."""
        try:
            with open_file(real) as file:
                found = os.fstat(file.fileno())
                source = file.read(LARGEST_FILE) if stat.S_ISREG(found.st_mode) else None
        except (FileNotFoundError, NotADirectoryError):
            raise Unfoldable(SkipReason.GONE) from None
        except IsADirectoryError:
            raise Unfoldable(SkipReason.NOT_A_FILE) from None
        except (OSError, ValueError):
            raise Unfoldable(SkipReason.UNREADABLE) from None
        if source is None:
            raise Unfoldable(SkipReason.NOT_A_FILE)
        if found.st_size > LARGEST_FILE:
            raise Unfoldable(SkipReason.TOO_LARGE)
        if b"\0" in source:
            raise Unfoldable(SkipReason.BINARY)
        return source


def _read_rules(root: Path) -> Ignore:
    """Return the test for workspace paths (with "/") that ``.rooignore`` in the root describes."""
    # If the file is there but cannot be read, everything is kept from the model.
    try:
        with open_file(os.path.realpath(root / RULES)) as file:
            text = file.read(LARGEST_FILE)
    except FileNotFoundError:
        return lambda _path: False
    except OSError:
        return lambda _path: True
    return ignore_matcher(text.decode(errors="replace").splitlines())


def ignore_matcher(lines: Iterable[str]) -> Ignore:
    """Return the test that the lines of an ignore file describe; ill-formed lines are skipped."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - takes 40 ms, only needed with rules

    spec = GitIgnoreSpec([])
    for line in lines:
        with suppress(ValueError):
            spec += GitIgnoreSpec.from_lines([line])
    return spec.match_file
