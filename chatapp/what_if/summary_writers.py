"""Writers of summaries for a trial: a model, each call on record, or nobody."""

from dataclasses import replace
from typing import Any, override

import condense
from chatapp.agent.ports import CallOpening, Nobody, ReplyReader
from chatapp.condensation.draft_log import DraftJournal
from chatapp.context.sizes import Scale
from chatapp.context.turn_context import TurnContext, TurnSettings
from chatapp.models import Turn, message_store
from chatapp.storage.partial_replies import RetriedWrites


class TrialJournal(DraftJournal):
    """A journal of calls that belong to no turn and to no attempt, and leave no message."""

    def __init__(self, terms: TurnSettings) -> None:
        run = TurnContext(
            conversation=terms.conversation,
            profile=terms.profile,
            preferences=terms.preferences,
            turn=Turn(),
        )
        super().__init__(run, Scale(overhead=0), RetriedWrites(Nobody()))
        self.requests.learn(message_store.effective_rows(terms.conversation.pk))

    @override
    def _open_call(self, opening: CallOpening, columns: dict[str, int | None]) -> Any:
        return super()._open_call(replace(opening, attempt_id=""), columns)

    @override
    def keep_partial_reply(self, number: int, read: ReplyReader, *, at_once: bool) -> None:
        """Keep nothing: half a summary is none."""


class Unasked:
    """Knows how a model would be asked, for a prediction."""

    def __init__(self, terms: TurnSettings) -> None:
        apart = terms.writer != terms.profile
        self.supports_images = terms.writer.sees_images
        self.caches_prompts = terms.writer.spec.caches_prompts and not apart
        self.budget = (
            condense.Budget(terms.writer.context_window, terms.writer.output_limit)
            if apart
            else None
        )

    def stream(self, request: condense.SummaryRequest) -> Any:
        """Raise: nobody is asked."""
        raise NotImplementedError
