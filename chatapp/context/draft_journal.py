"""Keeps the record of calls for a draft, beside the turns."""

from typing import override

from chatapp.agent.ports import CallOpening
from chatapp.context.journal import StoredJournal


class DraftJournal(StoredJournal):
    """A journal whose calls belong to no turn: one that is stopped does not end them."""

    @override
    def _turn(self) -> None:
        """Return none."""

    @override
    def _go_on(self, opening: CallOpening) -> None:
        """Leave the turn at what it does."""
