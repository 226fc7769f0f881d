"""A context whose summaries a test has written."""

from typing import override

import condense
from chatapp.condensing.attempt_log import AttemptLog
from chatapp.condensing.controller import ContextController, TurnCondensing
from chatapp.condensing.summary_reviews import SummaryReviewer
from chatapp.conversations.context import sizes


class ScriptedController(ContextController):
    """A keeper whose summaries are scripted."""

    summarizer: condense.Summarizer

    @override
    def build(self) -> TurnCondensing:
        """Return what condenses, with the default strategies and no hooks."""
        log = AttemptLog(self.journal)
        reviewer = SummaryReviewer(self.journal)
        condenser = condense.Condenser(self.summarizer, sizes.COUNTER, log=log, reviewer=reviewer)
        return TurnCondensing(condenser, log, reviewer)
