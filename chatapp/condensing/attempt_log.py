"""The audit trail: every attempt to make the context smaller has a row from its start."""

import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db import transaction
from django.utils import timezone

import condense
from chatapp.agent import events
from chatapp.agent.async_tasks import finish
from chatapp.condensing.costs import predict
from chatapp.conversations.context.condense_requests import CondenseScope
from chatapp.conversations.context.sizes import figures_of
from chatapp.conversations.embedding import vectors
from chatapp.conversations.locks import find_broken
from chatapp.conversations.toolbox.history_search import StoredRecall
from chatapp.models import (
    BackgroundDraft,
    Condensation,
    Conversation,
    Review,
    Turn,
    hidden_messages,
    message_store,
)
from chatapp.models.calls import taken_by
from chatapp.models.database import lock, now
from chatapp.models.errors import IndexDamaged
from chatapp.models.processes import this_process
from chatapp.models.spending import check_spending_of
from chatapp.project.telemetry import note_condensation, note_refusal
from chatapp.storage.journal import ConversationJournal
from condense import noop, say

BROKEN_PROMISE = noop(
    "You asked to wait; condensing could not wait: the next request ({tokens:,} tokens) would not "
    "fit in {room:,}."
)
REFUSED_PROMISE = noop(
    "You asked to wait; condensing could not wait: the provider refused the request as too long."
)

# The names of checks that found nothing.
_PASSED = {
    "sections": noop("all sections"),
    "refusal": noop("no refusal"),
    "repetition": noop("no repetition"),
    "contradictions": noop("no contradictions"),
}


def told_by(reduction: condense.Reduction) -> dict[str, Any]:
    """Return the columns that a reduction fills in its record."""
    verdicts = reduction.verdicts
    passed = [one for one in verdicts if not one.issues]
    checked = [
        _PASSED.get(one.name, noop(one.name))
        if one.score in {None, 1}
        else say("{check} {share:.0%}", check=noop(one.name), share=one.score)
        for one in passed
    ]
    said = [say("Checks passed: {checks}", checks=checked)] if checked else []
    issues = [
        say("{check}: {issue}", check=noop(one.name), issue=noop(issue))
        for one in verdicts
        for issue in one.issues
    ]
    return {
        "kind": reduction.kind,
        "strategy": reduction.strategy,
        "prompt": reduction.prompt,
        "summary": reduction.summary,
        "analysis": reduction.analysis,
        "notes": [*reduction.notes, *said, *issues],
        "folded": reduction.folded.to_json() if reduction.folded else {},
    }


def receipt_of(
    conversation_id: uuid.UUID,
    reduction: condense.Reduction,
    effective: Sequence[condense.Message],
    on_disk: Callable[[str], bool] | None,
) -> condense.Receipt:
    """Return the receipt for the facts that a reduction hides, as if it were applied."""
    # The agent's own search looks for them among the messages that are hidden then.
    hidden = reduction.hidden_among(effective)
    kept = condense.replace_hidden(effective, reduction.hidden, reduction.message)
    until = max([message.order[0] for message in hidden], default=0)
    search = StoredRecall(conversation_id, until)
    try:
        return condense.receipt(hidden, kept, search=search, on_disk=on_disk)
    except IndexDamaged:
        return condense.receipt(hidden, kept, on_disk=on_disk)


PROGRESS_INTERVAL = 0.5  # seconds


class AttemptLog:
    """The engine's ``CondensationLog``: a row per attempt, and events for the watchers."""

    # True if each attempt is a draft, which belongs to no turn.
    drafts: ClassVar[bool] = False

    def __init__(
        self, journal: ConversationJournal, *, on_disk: Callable[[str], bool] | None = None
    ) -> None:
        """Take the journal of the run whose attempts are kept.

        ``on_disk`` returns True if a file that the agent knew can still be read.
        """
        self.run, self.scale, self.saver = journal.run, journal.scale, journal.saver
        self.audience = journal.saver.audience
        self.on_disk = on_disk
        # The part that the next attempts condense, None for all.
        self.scope: CondenseScope | None = None
        # The first notes of an attempt: the reason that the user's "Not now" does not hold.
        self.notes: list[str] = []
        self.asked_in_vain = False
        self._told_at = 0.0
        # The tries of the attempt that comes next.
        self._fallen: list[str] = []
        self._taken: dict[str, Any] = {}
        # When drafts were written that this turn takes over.
        self._drafted: dict[str, datetime | None] = {}

    @property
    def turn(self) -> Turn | None:
        """The turn that the attempts are part of, None for drafts."""
        return None if self.drafts else self.run.turn

    async def started(self, attempt: condense.Attempt) -> None:
        """Store the attempt's row; raise SpendingLimitReached if it may not ask its model."""
        await self.saver.save(self._create, attempt)
        self.audience.publish(events.CondensingStarted(self._trigger(attempt)))

    def _trigger(self, attempt: condense.Attempt) -> str:
        """Return the trigger as the record names it."""
        if self.drafts or attempt.id in self._drafted:
            return Condensation.Trigger.AHEAD
        idle = self.run.request.while_idle
        return Condensation.Trigger.IDLE if idle else Condensation.Trigger(attempt.trigger)

    @transaction.atomic
    def _create(self, attempt: condense.Attempt) -> None:
        run, budget = self.run, self.run.budget()
        if turn := self.turn:
            turn.go_on(Turn.Doing.CONDENSING)
        # Before anything is on record. An attempt that asks no model may go on.
        if attempt.prompt:
            check_spending_of(run.conversation, run.preferences)
        last_seq = Conversation.objects.values_list("last_seq", flat=True)
        predicted: dict[str, object] = {}
        if attempt.expected.total:
            unchanged = self.scale.measured_tokens is not None
            usage = predict(run, attempt.expected, unchanged=unchanged)
            predicted = {f"predicted_{name}": tokens for name, tokens in usage.counts.items()}
            predicted["predicted_cost"] = run.writer.cost_of(usage)
        row = Condensation.objects.create(
            id=uuid.UUID(attempt.id),
            conversation=run.conversation,
            turn=turn,
            owner=None if turn else this_process(),
            started_at=timezone.now() if turn else now(),
            trigger=self._trigger(attempt),
            at_seq=last_seq.get(pk=run.conversation.pk),
            kind=attempt.kind,
            strategy=attempt.strategy,
            threshold=attempt.threshold,
            threshold_source=attempt.threshold_source,
            context_window=budget.window,
            allowed=int(budget.allowed),
            profile_name=run.profile.name,
            model=run.profile.model,
            **self._writer(attempt.prompt),
            prompt=attempt.prompt,
            focus=attempt.focus,
            scope=self.scope.to_json() if self.scope else None,
            tokens_before=attempt.tokens_before.value,
            tokens_before_measured=attempt.tokens_before.measured,
            notes=self.notes,
            **predicted,
        )
        Condensation.objects.filter(pk__in=self._fallen).change(made_for=row)

    def _writer(self, prompt: str) -> dict[str, str]:
        """Return the columns of a summary's writer, empty if the answering profile writes it."""
        run = self.run
        writer = run.writer if prompt and run.writer != run.profile else None
        return {
            "writer_name": writer.name if writer else "",
            "writer_model": writer.model if writer else "",
        }

    async def take_over(self, draft: str, situation: condense.Situation) -> bool:
        """Make the row of a draft this turn's, to be applied; return False if it is gone."""
        taken = await self.saver.save(self._take_over, draft, situation)
        if taken:
            self._drafted[draft] = taken.finished_at
        return taken is not None

    @transaction.atomic
    def _take_over(self, draft: str, situation: condense.Situation) -> Condensation | None:
        lock(Conversation, self.run.conversation.pk)
        self.run.turn.go_on(Turn.Doing.CONDENSING)
        rows = Condensation.objects.filter(pk=draft, status=Condensation.Status.DRAFTED)
        last_seq = Conversation.objects.values_list("last_seq", flat=True)
        row = rows.first()
        taken = rows.change(
            status=Condensation.Status.RUNNING,
            turn=self.run.turn,
            at_seq=last_seq.get(pk=self.run.conversation.pk),
            threshold=situation.budget.threshold,
            threshold_source=situation.budget.threshold_source,
            tokens_before=situation.tokens.value,
            tokens_before_measured=situation.tokens.measured,
        )
        BackgroundDraft.objects.filter(condensation=uuid.UUID(draft)).delete()
        return row if taken else None

    async def progressed(self, _attempt: condense.Attempt, tokens_written: int) -> None:
        """Publish the summary's progress, a few times a second at most."""
        moment = time.monotonic()
        if moment - self._told_at >= PROGRESS_INTERVAL:
            self._told_at = moment
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
        pk = self.run.conversation.pk
        receipt = await self.saver.read(receipt_of, pk, reduction, attempt.effective, self.on_disk)
        size, figures = await self.saver.save(self._apply, attempt, reduction, receipt)
        self.audience.publish(figures)
        self._announce(attempt, Condensation.Status.SUCCEEDED)
        return size

    @transaction.atomic
    def _apply(
        self, attempt: condense.Attempt, reduction: condense.Reduction, receipt: condense.Receipt
    ) -> tuple[condense.TokenCount, events.ContextChanged]:
        """Return the size of the new effective history, and the event with its figures.

        Raises a condense.CondenseError, and applies nothing, if a pin would not hold.
        """
        pk = self.run.conversation.pk
        lock(Conversation, pk)
        if self.turn:
            self.turn.hold()
        message = hidden_messages.apply_reduction(pk, reduction, turn=self.turn)
        vectors.enqueue(pk)
        history = message_store.read_effective(pk)
        if broken := find_broken(pk, history):
            raise condense.CondenseError(broken)
        size = self.scale.weigh(history)
        # As people see it: a clearing hides results, and no message.
        counted = {"results_hidden": reduction.count}
        if reduction.kind != "cleared":
            counted = hidden_messages.hidden_by(pk, [message]).count_seen()
        told = told_by(reduction)
        told["notes"] = [*self.notes, *told["notes"]]
        self._finish(
            attempt,
            Condensation.Status.SUCCEEDED,
            message=message,
            tokens_after=size.value,
            receipt=receipt,
            **counted,
            **self._writer(reduction.prompt),
            **told,
        )
        message_store.put_off(self.run.conversation, False)
        return size, figures_of(self.run, history, size)

    async def failed(
        self,
        attempt: condense.Attempt,
        error: condense.CondenseError,
        *,
        fell_back_to: str | None = None,
    ) -> None:
        """Complete the record of a failed attempt, its cost included."""
        self.asked_in_vain = self.asked_in_vain or error.calls > 0
        unasked = attempt.kind == "cleared" and self.scope is None
        held = isinstance(error, condense.Vetoed) and attempt.trigger is condense.Trigger.AUTO
        declined = isinstance(error, condense.NothingToCondense) or unasked or held
        if isinstance(error, condense.SummaryRejected):
            note_refusal(error.rules)
        said = {"error": str(error), "details": error.details, "fell_back_to": fell_back_to or ""}
        status = Condensation.Status.DECLINED if declined else Condensation.Status.FAILED
        await finish(self._end(attempt, status, **said))

    async def cancelled(self, attempt: condense.Attempt) -> None:
        """Complete the record of an attempt that was taken back."""
        await self._end(attempt, Condensation.Status.CANCELLED, fell_back_to="")

    async def _end(self, attempt: condense.Attempt, status: str, **said: str) -> None:
        await self.saver.save(self._give_up, attempt, status, **said)
        self._announce(attempt, status, fell_back=bool(said["fell_back_to"]))

    def _announce(self, attempt: condense.Attempt, status: str, *, fell_back: bool = False) -> None:
        self._fallen = [*self._fallen, attempt.id] if fell_back else []
        if not fell_back:
            cause = self._trigger(attempt), attempt.kind, status
            note_condensation(*cause, self._taken["work_seconds"], self._taken["total_cost"])
        ended = events.CondensingEnded(attempt.kind, status)
        self.audience.publish(events.CondensingFellBack() if fell_back else ended)

    @transaction.atomic
    def _give_up(self, attempt: condense.Attempt, status: str, **columns: object) -> None:
        lock(Conversation, self.run.conversation.pk)
        if self.turn:
            self.turn.hold()
        Review.objects.withdraw(uuid.UUID(attempt.id))
        self._finish(attempt, status, **columns)
        message_store.note_record(self.run.conversation.pk)

    def _finish(self, attempt: condense.Attempt, status: str, **columns: object) -> None:
        """Close the record with the cost and time of the attempt and its tries."""
        row = Condensation.objects.filter(pk=attempt.id)
        ended = self._drafted.get(attempt.id) or timezone.now()
        self._taken = taken_by(row.get(), ended)
        row.change(status=status, finished_at=ended, **self._taken, **columns)
