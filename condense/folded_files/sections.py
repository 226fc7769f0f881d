"""Sections: the signatures of files, the first files first, under a limit of characters.

The limit is applied as Roo Code applies it, but never exceeded.
"""

import os
import time
from collections.abc import Iterable

from condense.errors import SkipReason, Unfoldable
from condense.folded_files.results import Folded, FoldedFile, units
from condense.folded_files.signatures import read_definitions
from condense.folded_files.workspace import Ignore, VisibleFolder

LIMIT = 50_000
# Enough for thousands of ordinary files or four as hostile as can be: a person is waiting.
FOLD_SECONDS = 20.0
# With less room left, a file and all that follow are left out.
_LEAST_ROOM = 200
_RESERVED = 100
_TRUNCATED = "\n... (truncated)"
_FRAME = "<system-reminder>\n## File Context: {path}\n{definitions}\n</system-reminder>"
_CLOSING = "</system-reminder"
OUTLINE = "This is only an outline: read the file before you quote or change it.\n"


def fold_files(
    paths: Iterable[str],
    root: str | os.PathLike[str],
    *,
    limit: int = LIMIT,
    ignore: Ignore | None = None,
    seconds: float = FOLD_SECONDS,
) -> Folded:
    """Return the signatures of files in a workspace, the most important path first.

    It reads and waits, so call it in a thread: ``await asyncio.to_thread(fold_files, …)``.
    ``limit`` is in UTF-16 code units; ``ignore`` returns True for paths, relative to ``root``, that
    are not shown, in place of the workspace's ``.rooignore``. It never raises because of a file:
    that file is skipped, and so is each that would begin after ``seconds``. The ``root`` may be no
    link and lie behind none.
    """
    workspace = VisibleFolder(root, ignore)
    sections, seen = Sections(limit), set[str]()
    deadline = time.monotonic() + seconds

    def fold(path: str) -> None:
        if sections.is_spent:
            raise Unfoldable(SkipReason.NO_ROOM)
        if time.monotonic() >= deadline:
            raise Unfoldable(SkipReason.NO_TIME)
        real = workspace.locate(path)
        if real in seen:
            raise Unfoldable(SkipReason.REPEATED)
        seen.add(real)
        sections.add(path, OUTLINE + read_definitions(path, workspace.read(real)))

    files: list[FoldedFile] = []
    left_out: list[FoldedFile] = []
    for path in paths:
        try:
            fold(path)
        except Unfoldable as failure:
            left_out.append(FoldedFile(path, reason=failure.reason))
        else:
            files.append(FoldedFile(path, units(sections.sections[-1])))
    return Folded(sections.characters, tuple(files), tuple(left_out), tuple(sections.sections))


class Sections:
    """Takes sections until the limit is reached; lengths are in UTF-16 code units."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.sections: list[str] = []
        self.is_spent = False
        self._used = 0

    @property
    def characters(self) -> int:
        """The length of all sections joined by newlines."""
        return self._used + max(0, len(self.sections) - 1)

    def add(self, path: str, definitions: str) -> None:
        """Add a file's section, cut if only a part fits; raise Unfoldable if none does."""
        section = frame(path, definitions)
        if self.is_spent or self._with(section) > self.limit:
            section = self._cut(path, definitions)
        self.sections.append(section)
        self._used += units(section)

    def _with(self, section: str) -> int:
        return self._used + len(self.sections) + units(section)

    def _cut(self, path: str, definitions: str) -> str:
        spent, self.is_spent = self.is_spent, True
        room = self.limit - self._used
        overhead = self._with(frame(path, _TRUNCATED)) - self._used
        keep = room - max(_RESERVED, overhead)
        if spent or room < _LEAST_ROOM or keep <= 0:
            raise Unfoldable(SkipReason.NO_ROOM)
        # As much as fits; a character is never split.
        raw = _defused(definitions).encode("utf-16-le", "surrogatepass")[: 2 * keep]
        return frame(path, raw.decode("utf-16-le", "ignore") + _TRUNCATED)


def frame(path: str, definitions: str) -> str:
    """Return the section of one file."""
    name = " ".join(path.encode(errors="replace").decode().splitlines())
    return _FRAME.format(path=_defused(name), definitions=_defused(definitions))


def _defused(text: str) -> str:
    """Escape closing tags in a file's text, so that it can't end its own block."""
    return text.replace(_CLOSING, _CLOSING.replace("/", "\\/"))
