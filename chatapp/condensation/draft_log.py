"""Keeps the record of calls for a draft, beside the turns."""

from dataclasses import replace
from typing import override

from django.db import transaction
from django.utils.translation import gettext as _

import condense
from chatapp.condensation.attempt_log import AttemptLog, told_by
from chatapp.context.sizes import COUNTER
from chatapp.models import Condensation, Conversation
from chatapp.models.database import lock
from chatapp.storage.journal import ConversationJournal


class DraftJournal(ConversationJournal):
    """A journal whose calls belong to no turn: one that is stopped does not end them."""

    in_turn = goes_on = False


class DraftLog(AttemptLog):
    """A log that keeps what succeeded, and does not apply it: ``reduction`` is there then."""

    drafts = True
    attempt: condense.Attempt | None = None
    reduction: condense.Reduction | None = None

    @override
    def _create(self, attempt: condense.Attempt) -> int:
        self.attempt = attempt
        return super()._create(attempt)

    @override
    async def succeeded(self, attempt: condense.Attempt, reduction: condense.Reduction) -> None:
        """Keep the reduction, with its record."""
        status = Condensation.Status.DRAFTED
        await self.saver.save(self._finish, attempt, status, **told_by(reduction))
        self.reduction = reduction

    @override
    async def cancelled(self, attempt: condense.Attempt) -> None:
        """Leave the row to whoever cancels it, and says why."""

    def refit(self, situation: condense.Situation) -> str:
        """Make the reduction one of this situation; return why that is not enough, "" if it is."""
        made, automatic = self.reduction, situation.automatic
        if made is None:
            return _("The draft came to nothing.")
        before, after = condense.Gauge(situation, COUNTER).compare(made.hidden, made.message)
        if situation.budget.reason(after.value, automatic=automatic):
            return _("Newer messages grew too large, so the draft was dropped.")
        self.reduction = replace(made, tokens_before=before, tokens_after=after)
        return ""

    async def close(self, reason: str) -> None:
        """Say why the draft was not used."""
        if attempt := self.attempt:
            closed = await self.saver.save(self._close, attempt, reason)
            if closed:
                self._announce(attempt, Condensation.Status.UNUSED)

    @transaction.atomic
    def _close(self, attempt: condense.Attempt, reason: str) -> bool:
        """Return whether there was anything to close."""
        lock(Conversation, self.run.conversation.pk)
        row = Condensation.objects.filter(pk=attempt.id, status__in=Condensation.OPEN).first()
        if row:
            self._drafted[attempt.id] = row.finished_at
            self._finish(attempt, Condensation.Status.UNUSED, error=reason)
        return row is not None
