"""Keeps the record of calls for a draft, beside the turns."""

import uuid
from dataclasses import replace
from typing import override

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.condensation.attempt_log import AttemptLog, told_by
from chatapp.context.sizes import COUNTER
from chatapp.models import Condensation, ModelCall
from chatapp.storage.journal import ConversationJournal


class DraftJournal(ConversationJournal):
    """A journal whose calls belong to no turn: one that is stopped does not end them."""

    in_turn = goes_on = False


class DraftLog(AttemptLog):
    """A log that keeps what succeeded, and does not apply it: ``reduction`` is there then."""

    attempt: condense.Attempt | None = None
    reduction: condense.Reduction | None = None

    @override
    @transaction.atomic
    def _create(self, attempt: condense.Attempt) -> int:
        self.attempt = attempt
        return self._enter(attempt, trigger=self._trigger(attempt))

    @override
    def _trigger(self, attempt: condense.Attempt) -> str:
        return Condensation.Trigger.AHEAD

    @override
    async def succeeded(self, attempt: condense.Attempt, reduction: condense.Reduction) -> None:
        """Keep the reduction, with its record."""
        await self.saver.save(self._keep, attempt, reduction)
        self.reduction = reduction

    def _keep(self, attempt: condense.Attempt, reduction: condense.Reduction) -> None:
        with transaction.atomic():
            self._finish(attempt, Condensation.Status.DRAFTED, **told_by(reduction))

    @override
    async def cancelled(self, attempt: condense.Attempt) -> None:
        """Leave the row to whoever cancels it, and says why."""

    def refit(self, situation: condense.Situation) -> str:
        """Make the reduction one of this situation; return why that is not enough, "" if it is."""
        made, automatic = self.reduction, situation.automatic
        if made is None:
            return _("The draft came to nothing.")
        before, after = condense.Gauge(situation, COUNTER).compare(made.hidden, made.message)
        if situation.budget.should_condense(after.value, automatic=automatic):
            return _("What came since takes too much, so the draft was dropped.")
        self.reduction = replace(made, tokens_before=before, tokens_after=after)
        return ""

    async def close(self, reason: str) -> None:
        """Say why the draft was not used."""
        if self.attempt is None:
            return
        if await self.saver.save(self._close, self.attempt.id, reason):
            self._count(self.attempt, Condensation.Status.UNUSED)

    @staticmethod
    def _close(pk: str, reason: str) -> bool:
        """Return whether there was anything to close."""
        spent = ModelCall.objects.filter(condensation=uuid.UUID(pk)).spent()
        unused = {"status": Condensation.Status.UNUSED, "error": reason}
        with transaction.atomic():
            row = Condensation.objects.filter(pk=pk, status__in=Condensation.OPEN).first()
            if row:
                finished = row.finished_at or timezone.now()
                Condensation.objects.filter(pk=pk).change(**unused, **spent, finished_at=finished)
        return row is not None
