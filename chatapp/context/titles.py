"""Keeps the record of a call for a title, which belongs to a turn that is over."""

from collections.abc import Callable
from typing import override

from chatapp.agent.ports import Draft, Nobody
from chatapp.context.journal import StoredJournal
from chatapp.context.runs import Run
from chatapp.context.saving import Saver
from chatapp.context.sizes import Scale


class TitleJournal(StoredJournal):
    """A journal of one call that neither goes on with its turn nor follows another one."""

    def __init__(self, run: Run) -> None:
        """Take the run that has ended."""
        super().__init__(run, Scale(overhead=0), Saver(Nobody()))

    @override
    def _go_on(self, opening: object) -> None:
        """Leave the turn as it ended."""

    @override
    def keep_draft(self, number: int, read: Callable[[], Draft], *, at_once: bool) -> None:
        """Keep nothing: half a title is none."""
