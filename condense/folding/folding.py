"""From the paths of files to their sections, the first paths first."""

import os
import time
from collections.abc import Iterable

from condense.folding.errors import Unfoldable
from condense.folding.folded import Folded, Skipped, SkipReason
from condense.folding.ignoring import Ignore
from condense.folding.reading import Workspace
from condense.folding.sections import LIMIT, Sections
from condense.folding.signatures import read_definitions

# Some thousand files as they are, four as hostile as can be: whoever condenses is waiting.
SECONDS = 20.0


def fold_files(
    paths: Iterable[str],
    root: str | os.PathLike[str],
    *,
    limit: int = LIMIT,
    ignore: Ignore | None = None,
    seconds: float = SECONDS,
) -> Folded:
    """Return the signatures of files in a workspace, the most important path first.

    It reads and waits, so call it in a thread: ``await asyncio.to_thread(fold_files, …)``.
    ``limit`` is in UTF-16 code units; ``ignore`` tells which paths, relative to ``root``, are not
    shown, in place of the workspace's ``.rooignore``. What a file is never raises: it is skipped,
    and so is each that would begin after ``seconds``.
    """
    run = _Run(Workspace(root, ignore), Sections(limit), time.monotonic() + seconds)
    included: list[str] = []
    skipped: list[Skipped] = []
    for path in paths:
        try:
            run.fold(path)
        except Unfoldable as failure:
            skipped.append(Skipped(path, failure.reason))
        else:
            included.append(path)
    budget = run.budget
    return Folded(tuple(budget.sections), tuple(included), tuple(skipped), budget.characters)


class _Run:
    def __init__(self, workspace: Workspace, budget: Sections, deadline: float) -> None:
        self.workspace = workspace
        self.budget = budget
        self.deadline = deadline
        self.seen: set[str] = set()

    def fold(self, path: str) -> None:
        """Add one file's section; read nothing once the limit is reached."""
        if self.budget.is_spent:
            raise Unfoldable(SkipReason.NO_ROOM)
        if time.monotonic() >= self.deadline:
            raise Unfoldable(SkipReason.NO_TIME)
        real = self.workspace.locate(path)
        if real in self.seen:
            raise Unfoldable(SkipReason.REPEATED)
        self.seen.add(real)
        self.budget.add(path, read_definitions(path, self.workspace.read(real)))
