"""The audit trail: every attempt to make the context smaller has a row from its start."""

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import models, transaction
from django.utils import timezone

import condense
from chatapp.agent import events
from chatapp.agent.async_tasks import finish
from chatapp.agent.ports import Audience
from chatapp.condensation.cost_forecast import predicted_columns
from chatapp.context.condense_requests import Scope
from chatapp.context.sizes import Scale
from chatapp.context.turn_context import TurnContext
from chatapp.conversations.locks import find_broken
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Review,
    Turn,
    hidden_messages,
    message_store,
)
from chatapp.models.condensations import Status
from chatapp.models.database import prepared
from chatapp.spending_limits import keep_to_budget
from chatapp.storage.retried_writes import RetriedWrites
from chatapp.telemetry import note_condensation


def name_writer(run: TurnContext, attempt: condense.Attempt) -> dict[str, str]:
    """Name who writes the summary, where it is not the profile that answers."""
    writer = run.writer
    if not attempt.prompt or writer == run.profile:
        return {}
    return {"writer_name": writer.name, "writer_model": writer.model}


def told_by(reduction: condense.Reduction) -> dict[str, object]:
    """Return what a reduction tells, in the columns of its record."""
    return {
        "prompt": reduction.prompt,
        "summary": reduction.summary,
        "analysis": reduction.analysis,
        "notes": [*reduction.notes, *_said_by_validators(reduction)],
        "folded": reduction.folded.to_json() if reduction.folded else {},
    }


def _said_by_validators(reduction: condense.Reduction) -> list[str]:
    """Return what was checked, with each score and issue, as sentences for the record."""
    verdicts = reduction.verdicts
    checked = [
        v.name if v.score is None else f"{v.name} {v.score:.0%}" for v in verdicts if not v.issues
    ]
    said = [f"Checked: {', '.join(checked)}"] if checked else []
    return [*said, *(f"{v.name}: {issue}" for v in verdicts for issue in v.issues)]


def count_hidden(reduction: condense.Reduction, made: Message) -> dict[str, int]:
    """Count what was hidden as people see it; a clearing hides results, and no message."""
    if reduction.kind == "cleared":
        return {"results_hidden": reduction.count}
    return hidden_messages.hidden_by(made.conversation_id, [made]).count_seen()


def receipt_of(
    reduction: condense.Reduction,
    effective: Sequence[condense.Message],
    on_disk: Callable[[str], bool] | None,
) -> condense.Receipt:
    """Return what the model still reads of the facts that a reduction hides, once it applies."""
    hidden = reduction.hidden_among(effective)
    kept = condense.replace_hidden(effective, reduction.hidden, reduction.message)
    return condense.receipt(hidden, kept, on_disk=on_disk)


PROGRESS_INTERVAL = 0.5  # seconds


class AttemptLog:
    """The engine's ``CondensationLog``: a row per attempt, and word to the watchers."""

    def __init__(
        self,
        run: TurnContext,
        *,
        scale: Scale,
        saver: RetriedWrites,
        audience: Audience,
        on_disk: Callable[[str], bool] | None = None,
        condensed_at: int = 0,
    ) -> None:
        """Take the run whose attempts are kept.

        ``on_disk`` says whether a file that the agent knew can still be read; ``condensed_at`` is
        the newest message's seq when it was last tried, 0 where it never was.
        """
        self.run = run
        self.scale = scale
        self.saver = saver
        self.audience = audience
        self.on_disk = on_disk
        # What the next attempts are of, where that is a part.
        self.scope: Scope | None = None
        self.asked_in_vain = False
        self.condensed_at = condensed_at
        self._told_at = 0.0
        # When drafts were written that this turn takes over.
        self._drafted: dict[str, datetime | None] = {}

    async def started(self, attempt: condense.Attempt) -> None:
        """Write the attempt's row before anything is done.

        Raises BudgetSpent where it would ask a model that may not be called any more.
        """
        self.condensed_at = await self.saver.save(self._create, attempt)
        self.audience.publish(events.CondensingStarted(self._trigger(attempt)))

    @transaction.atomic
    def _create(self, attempt: condense.Attempt) -> int:
        self.run.turn.go_on(Turn.Doing.CONDENSING)
        return self._enter(attempt, trigger=self._trigger(attempt), turn=self.run.turn)

    def _trigger(self, attempt: condense.Attempt) -> str:
        """Return the trigger as the record names it."""
        if attempt.id in self._drafted:
            return Condensation.Trigger.AHEAD
        idle = self.run.while_idle
        return Condensation.Trigger.IDLE if idle else Condensation.Trigger(attempt.trigger)

    def _count(self, attempt: condense.Attempt, status: Status) -> None:
        note_condensation(self._trigger(attempt), attempt.kind, status)

    def _enter(self, attempt: condense.Attempt, **columns: object) -> int:
        run = self.run
        budget = run.budget()
        unchanged = self.scale.measured_tokens is not None
        last_seq = Conversation.objects.values_list("last_seq", flat=True)
        # Before anything is on record: what asks no model may go on.
        if attempt.prompt:
            keep_to_budget(run)
        row = Condensation.objects.create(
            id=uuid.UUID(attempt.id),
            conversation=run.conversation,
            at_seq=last_seq.get(pk=run.conversation.pk),
            kind=attempt.kind,
            strategy=attempt.strategy,
            threshold=attempt.threshold,
            threshold_source=attempt.threshold_source,
            context_window=budget.window,
            allowed=int(budget.allowed),
            profile_name=run.profile.name,
            model=run.profile.model,
            **name_writer(run, attempt),
            prompt=attempt.prompt,
            focus=attempt.focus,
            scope=self.scope.to_json() if self.scope else None,
            tokens_before=attempt.tokens_before.value,
            tokens_before_measured=attempt.tokens_before.measured,
            **predicted_columns(run, attempt.expected, unchanged=unchanged),
            **columns,
        )
        return row.at_seq

    async def take_over(self, draft: condense.Attempt, situation: condense.Situation) -> bool:
        """Make the row of a draft this turn's, to be applied; False where it is not there."""
        taken = await self.saver.save(self._take_over, draft, situation)
        if taken:
            self.condensed_at, self._drafted[draft.id] = taken
        return taken is not None

    @transaction.atomic
    def _take_over(
        self, draft: condense.Attempt, situation: condense.Situation
    ) -> tuple[int, datetime | None] | None:
        self.run.turn.go_on(Turn.Doing.CONDENSING)
        rows = Condensation.objects.filter(pk=draft.id, status=Status.DRAFTED)
        last_seq = Conversation.objects.values_list("last_seq", flat=True)
        at_seq = last_seq.get(pk=self.run.conversation.pk)
        row = rows.first()
        taken = rows.change(
            status=Status.RUNNING,
            turn=self.run.turn,
            at_seq=at_seq,
            threshold=situation.budget.threshold,
            threshold_source=situation.budget.threshold_source,
            tokens_before=situation.tokens.value,
            tokens_before_measured=situation.tokens.measured,
        )
        return (at_seq, row.finished_at) if row and taken else None

    async def progressed(self, _attempt: condense.Attempt, tokens_written: int) -> None:
        """Tell the watchers how far the summary is, a few times a second at most."""
        now = time.monotonic()
        if now - self._told_at >= PROGRESS_INTERVAL:
            self._told_at = now
            self.audience.publish(events.CondensingProgressed(tokens_written))

    async def succeeded(
        self, attempt: condense.Attempt, reduction: condense.Reduction
    ) -> condense.TokenCount | None:
        """Apply the reduction and complete its record, in one transaction."""
        return await finish(self._succeed(attempt, reduction))

    async def _succeed(
        self, attempt: condense.Attempt, reduction: condense.Reduction
    ) -> condense.TokenCount:
        self.scale.forget()
        # It reads much and writes nothing, so no write waits for it.
        receipt = await asyncio.to_thread(receipt_of, reduction, attempt.effective, self.on_disk)
        history, size = await self.saver.save(self._apply, attempt, reduction, receipt)
        self.audience.publish(events.ContextChanged(history, size))
        self._announce(attempt, Status.SUCCEEDED)
        return size

    def _apply(
        self, attempt: condense.Attempt, reduction: condense.Reduction, receipt: condense.Receipt
    ) -> tuple[Sequence[condense.Message], condense.TokenCount]:
        """Return what the model sees from now on, and its size.

        Raises a condense.CondenseError, and applies nothing, where a pin would not hold.
        """
        with transaction.atomic():
            conversation_id = self.run.conversation.pk
            message = hidden_messages.apply_reduction(
                conversation_id, reduction, turn=self.run.turn
            )
            history = message_store.read_effective(conversation_id)
            if broken := find_broken(conversation_id, history):
                raise condense.CondenseError(broken)
            size = self.scale.weigh(history)
            self._finish(
                attempt,
                Status.SUCCEEDED,
                message=message,
                tokens_after=size.value,
                **count_hidden(reduction, message),
                **told_by(reduction),
                receipt=receipt,
            )
        return history, size

    async def failed(
        self,
        attempt: condense.Attempt,
        error: condense.CondenseError,
        *,
        fell_back_to: str | None = None,
    ) -> None:
        """Complete the record of an attempt that came to nothing, its cost included."""
        self.asked_in_vain = self.asked_in_vain or error.calls > 0
        said = {"error": str(error), "details": error.details, "fell_back_to": fell_back_to or ""}
        unasked = attempt.kind == "cleared" and self.scope is None
        declined = isinstance(error, condense.NothingToCondense) or unasked
        await finish(self._fail(attempt, Status.DECLINED if declined else Status.FAILED, said))

    async def _fail(self, attempt: condense.Attempt, status: Status, said: dict[str, str]) -> None:
        await self.saver.save(self._give_up, attempt, status, **said)
        if said["fell_back_to"]:
            self._count(attempt, status)
            self.audience.publish(events.CondensingFellBack())
        else:
            self._announce(attempt, status)

    async def cancelled(self, attempt: condense.Attempt) -> None:
        """Complete the record of an attempt that was taken back."""
        await self.saver.save(self._give_up, attempt, Status.CANCELLED)
        self._announce(attempt, Status.CANCELLED)

    def _announce(self, attempt: condense.Attempt, status: Status) -> None:
        self._count(attempt, status)
        self.audience.publish(events.CondensingEnded(attempt.kind, status))

    def _give_up(self, attempt: condense.Attempt, status: Status, **columns: object) -> None:
        with transaction.atomic():
            Review.objects.withdraw(uuid.UUID(attempt.id))
            self._finish(attempt, status, **columns)
            message_store.note_record(self.run.conversation.pk)

    def _finish(self, attempt: condense.Attempt, status: Status, **columns: object) -> None:
        """Close the record; what the attempt cost is what its calls cost."""
        calls = ModelCall.objects.filter(condensation=uuid.UUID(attempt.id))
        Condensation.objects.filter(pk=attempt.id).change(
            status=status,
            finished_at=self._drafted.get(attempt.id) or timezone.now(),
            **calls.spent(),
            **columns,
        )


def last_tried(conversation_id: uuid.UUID) -> int:
    """Return the newest message's seq when it was last tried to condense, 0 where it never was."""
    return _last_tried.first(conversation=conversation_id) or 0


@prepared(conversation=models.UUIDField())
def _last_tried(conversation: uuid.UUID) -> models.QuerySet[Condensation, int]:
    tried = Condensation.objects.filter(conversation=conversation).order_by("-at_seq")
    asked_for = tried.exclude(trigger=Condensation.Trigger.AHEAD, message=None)
    return asked_for.values_list("at_seq", flat=True)[:1]


def last_drafted(conversation_id: uuid.UUID) -> int:
    """Return the newest message's seq when a draft was last begun, 0 where none ever was."""
    drafts = Condensation.objects.filter(trigger=Condensation.Trigger.AHEAD)
    begun = drafts.filter(conversation=conversation_id).order_by("-at_seq")
    return begun.values_list("at_seq", flat=True).first() or 0
