"""From the paths of files to their sections, the first paths first."""

import os
from collections.abc import Iterable

from condense.folding.budget import LIMIT, Budget
from condense.folding.ignoring import Ignore
from condense.folding.reading import Workspace
from condense.folding.record import Folded, Reason, Skipped, Unfoldable
from condense.folding.signatures import read_definitions


def fold_files(
    paths: Iterable[str],
    root: str | os.PathLike[str],
    *,
    limit: int = LIMIT,
    ignore: Ignore | None = None,
) -> Folded:
    """Return the signatures of files in a workspace, the most important path first.

    It reads and waits, so call it in a thread: ``await asyncio.to_thread(fold_files, …)``.
    ``limit`` is in UTF-16 code units; ``ignore`` tells which paths, relative to ``root``, are not
    shown, in place of the workspace's ``.rooignore``. What a file is never raises: it is skipped.
    """
    run = _Run(Workspace(root, ignore), Budget(limit))
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
    def __init__(self, workspace: Workspace, budget: Budget) -> None:
        self.workspace = workspace
        self.budget = budget
        self.seen: set[str] = set()

    def fold(self, path: str) -> None:
        """Add one file's section; read nothing once the limit is reached."""
        if self.budget.is_spent:
            raise Unfoldable(Reason.NO_ROOM)
        real = self.workspace.locate(path)
        if real in self.seen:
            raise Unfoldable(Reason.REPEATED)
        self.seen.add(real)
        self.budget.add(path, read_definitions(path, self.workspace.read(real)))
