"""The audit trail: every attempt to make the context smaller has a row from its start."""

import time
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Max, Sum
from django.utils import timezone

import condense
from chatapp.agent import events
from chatapp.agent.ports import Audience
from chatapp.context import sizes
from chatapp.models import Condensation, Conversation, ModelCall, Profile, Turn, store

PROGRESS_INTERVAL = 0.5  # seconds


class StoredLog:
    """The engine's ``CondensationLog``: a row per attempt, and word to the watchers."""

    def __init__(
        self,
        conversation: Conversation,
        profile: Profile,
        budget: condense.Budget,
        audience: Audience,
        *,
        on_disk: Callable[[str], bool] | None = None,
        turn: Turn | None = None,
        focus: str = "",
    ) -> None:
        """Take what every attempt of this run has in common.

        ``on_disk`` says whether a file that the agent knew can still be read.
        """
        self.conversation = conversation
        self.profile = profile
        self.budget = budget
        self.audience = audience
        self.on_disk = on_disk
        self.turn = turn
        self.focus = focus
        self.model_failed = False
        # What the model sees when a run begins, so that it need not be read once more.
        self.effective: Sequence[condense.Message] = ()
        self._told = 0.0
        self._kind = ""

    async def condensed_at(self) -> int:
        """Return the newest message's seq when it was last tried, 0 where it never was."""
        tried = Condensation.objects.filter(conversation=self.conversation)
        found = await tried.aaggregate(seq=Max("at_seq"))
        return found["seq"] or 0

    async def started(self, attempt: condense.Attempt) -> None:
        """Write the attempt's row before anything is done."""
        self._kind = attempt.kind
        await sync_to_async(self._create)(attempt)
        self.audience.publish(events.CondensingStarted(attempt.trigger))

    def _create(self, attempt: condense.Attempt) -> None:
        last_seq = Conversation.objects.values_list("last_seq", flat=True)
        Condensation.objects.create(
            id=uuid.UUID(attempt.id),
            conversation=self.conversation,
            turn=self.turn,
            at_seq=last_seq.get(pk=self.conversation.pk),
            kind=attempt.kind,
            strategy=attempt.strategy,
            trigger=attempt.trigger,
            threshold=attempt.threshold,
            threshold_source=attempt.threshold_source,
            context_window=self.budget.window,
            allowed=int(self.budget.allowed),
            profile_name=self.profile.name,
            model=self.profile.model,
            prompt=attempt.prompt,
            focus=self.focus,
            tokens_before=attempt.tokens_before.value,
            tokens_before_measured=attempt.tokens_before.measured,
        )

    async def progressed(self, _attempt_id: str, tokens_written: int) -> None:
        """Tell the watchers how far the summary is, a few times a second at most."""
        now = time.monotonic()
        if now - self._told >= PROGRESS_INTERVAL:
            self._told = now
            self.audience.publish(events.CondensingProgressed(tokens_written))

    async def succeeded(self, attempt_id: str, reduction: condense.Reduction) -> None:
        """Apply the reduction and complete its record, in one transaction."""
        await sync_to_async(self._apply)(attempt_id, reduction)
        self._announce(Condensation.Status.SUCCEEDED)

    def _apply(self, attempt_id: str, reduction: condense.Reduction) -> None:
        receipt = self._receipt(reduction)
        with transaction.atomic():
            message = store.apply_reduction(self.conversation.pk, reduction, turn=self.turn)
            self._finish(
                attempt_id,
                Condensation.Status.SUCCEEDED,
                message=message,
                prompt=reduction.prompt,
                tokens_after=self._size().value,
                messages_hidden=reduction.count,
                cost=reduction.cost,
                summary=reduction.summary,
                analysis=reduction.analysis,
                notes=[*reduction.notes, *_said_by_validators(reduction)],
                receipt=receipt.to_json(),
                folded=reduction.folded.to_json() if reduction.folded else {},
            )

    def _size(self) -> condense.TokenCount:
        """Return the size that the context bar shows from now on."""
        fresh = Conversation.objects.get(pk=self.conversation.pk)
        return sizes.context_size(fresh, self.profile, store.read_effective(fresh.pk))

    def _receipt(self, reduction: condense.Reduction) -> condense.Receipt:
        """Check what the model still reads of the facts in what is about to be hidden."""
        ids = frozenset(reduction.hidden)
        effective = self.effective or store.read_effective(self.conversation.pk)
        hidden = [message for message in effective if message.id in ids]
        kept = condense.replace_hidden(effective, reduction.hidden, reduction.message)
        # The agent has no tool that searches the history, so only files can be found again.
        return condense.receipt(hidden, kept, searchable=False, on_disk=self.on_disk)

    async def failed(
        self, attempt_id: str, error: condense.CondenseError, *, fell_back_to: str | None = None
    ) -> None:
        """Complete the record of an attempt that came to nothing, its cost included."""
        self.model_failed = self.model_failed or error.calls > 0
        await sync_to_async(self._give_up)(
            attempt_id,
            Condensation.Status.FAILED,
            error=str(error),
            fell_back_to=fell_back_to or "",
            details=error.details,
            cost=error.cost,
        )
        if fell_back_to:
            self.audience.publish(events.CondensingFellBack())
        else:
            self._announce(Condensation.Status.FAILED)

    async def cancelled(self, attempt_id: str) -> None:
        """Complete the record of an attempt that was taken back."""
        await sync_to_async(self._cancel)(attempt_id)
        self._announce(Condensation.Status.CANCELLED)

    def _announce(self, status: Condensation.Status) -> None:
        self.audience.publish(events.CondensingEnded(self._kind, status))

    def _cancel(self, attempt_id: str) -> None:
        spent = ModelCall.objects.filter(condensation=uuid.UUID(attempt_id))
        cost = spent.aggregate(cost=Sum("cost", default=Decimal(0)))["cost"]
        self._give_up(attempt_id, Condensation.Status.CANCELLED, cost=cost)

    def _give_up(self, attempt_id: str, status: Condensation.Status, **columns: object) -> None:
        with transaction.atomic():
            self._finish(attempt_id, status, **columns)
            store.note_record(self.conversation.pk)

    @staticmethod
    def _finish(attempt_id: str, status: Condensation.Status, **columns: object) -> None:
        Condensation.objects.filter(pk=attempt_id).update(
            status=status, finished_at=timezone.now(), **columns
        )


def _said_by_validators(reduction: condense.Reduction) -> list[str]:
    """Return each issue and score as a sentence for the record."""
    said: list[str] = []
    for verdict in reduction.verdicts:
        said += [f"{verdict.name}: {issue}" for issue in verdict.issues]
        if verdict.score is not None:
            said.append(f"{verdict.name}: {verdict.score:.0%}")
    return said
