"""Keeps one conversation's context within its window: situation in, smaller history out."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asgiref.sync import sync_to_async

import condense
from chatapp.agent import events
from chatapp.agent.async_tasks import compute
from chatapp.agent.errors import CondensingCancelled, CondensingDeclined
from chatapp.agent.ports import ModelRequest, Provider, Toolbox
from chatapp.condensing import background_drafts
from chatapp.condensing.attempt_log import BROKEN_PROMISE, REFUSED_PROMISE, AttemptLog
from chatapp.condensing.condenser_setup import condenser_for, situation_of
from chatapp.condensing.ratings import feedback_of
from chatapp.condensing.summary_reviews import SummaryReviewer
from chatapp.conversations.context.condense_requests import (
    CondenseRequest,
    CondenseScope,
    find_chosen,
)
from chatapp.conversations.context.sizes import figures_of, is_draft_near
from chatapp.conversations.context.turn_context import describe_surroundings
from chatapp.conversations.locks import with_unpinned
from chatapp.models import Condensation, message_store
from chatapp.models.database import reading
from chatapp.storage.journal import ConversationJournal
from condense import noop

log = logging.getLogger(__name__)

CANCELLED = noop("Condensing was cancelled, and the context is too large to go on without it.")

# A share of the size at which condensing starts. Before its first report the provider is asked for
# the size from here on: an estimate may be wrong by half, and below this that changes nothing.
CLOSE = 0.5


@dataclass(frozen=True, slots=True)
class TurnCondensing:
    """The parts that condense in one turn: the condenser, its log, and the reviewer."""

    condenser: condense.Condenser
    log: AttemptLog
    reviewer: SummaryReviewer


class ContextController:
    """The agent's ``ContextPort`` over ``condense.Condenser``; one per run.

    The condenser is built when a condensation may be due, or somebody requests one.
    """

    def __init__(
        self, journal: ConversationJournal, *, toolbox: Toolbox, provider: Provider
    ) -> None:
        self.journal = journal
        self.toolbox = toolbox
        self.provider = provider
        self.run, self.scale, self.audience = journal.run, journal.scale, journal.saver.audience
        self.focus = self.run.request.focus
        self._parts: TurnCondensing | None = None
        self._leaving = False
        self._reducing: asyncio.Task[condense.Reduction | None] | None = None
        self._declined = False
        self._may_count = True
        # True if an automatic condensation was put off until the next turn.
        self.puts_off = False

    async def figures(self, history: Sequence[condense.Message]) -> events.ContextChanged:
        """Return the figures of ``history``, which is the model's context now."""

        def figures() -> events.ContextChanged:
            return figures_of(self.run, history, self.scale.weigh(history))

        return await compute([one.content for one in history], figures)

    async def weigh(self, history: Sequence[condense.Message]) -> condense.TokenCount:
        """Return the size of ``history``, with system prompt and tools."""
        return await compute([one.content for one in history], self.scale.weigh, history)

    def build(self) -> TurnCondensing:
        """Return the parts that condense, by the user's settings; reads the database."""
        log = AttemptLog(self.journal, on_disk=self.toolbox.holds)
        reviewer = SummaryReviewer(self.journal)
        condenser = condenser_for(self.journal, log, reviewer, answers=self.provider)
        return TurnCondensing(condenser, log, reviewer)

    async def _condensing(self) -> TurnCondensing:
        """Return the parts that condense, built once."""
        if self._parts is None:
            self._parts = await self.journal.saver.read(self.build)
            if self._leaving:
                self._parts.reviewer.leave()
        return self._parts

    def leave(self) -> None:
        """End the wait for a person: a review that waits raises LeftWaiting."""
        self._leaving = True
        if self._parts:
            self._parts.reviewer.leave()

    def wake(self) -> None:
        """Have a waiting review read the person's answer."""
        if self._parts:
            self._parts.reviewer.wake()

    async def fit(
        self, history: Sequence[condense.Message], trigger: condense.Trigger
    ) -> Sequence[condense.Message]:
        """Return the history to send: the same, or the rest after a reduction.

        Raises a condense.CondenseError if it does not fit and can't be made to, and
        CondensingCancelled if the user cancelled a necessary condensation.
        """
        run, automatic = self.run, trigger is condense.Trigger.AUTO
        if automatic and (request := run.requests.take()):
            history = await self._fulfil(request)
        if (window := self.provider.model.context_window) < run.profile.context_window:
            # The provider has named it, in its refusal of this request or of a summary's.
            run.profile.context_window = window
            note, pks = message_store.note_window, (run.conversation.pk, run.profile.pk)
            await self.journal.saver.save(note, *pks, window)
        size, budget, wanted = await self._measure(history), run.budget(history), run.configuration
        if automatic and not (
            budget.reason(size.value, automatic=wanted.automatic)
            or wanted.hooks.should_condense
            # A review may have been left open by another process.
            or run.turn.waits
            or is_draft_near(run, size.value, budget)
        ):
            if log.isEnabledFor(logging.DEBUG):
                log.debug("%s, %d messages: not due", budget.describe(size.value), len(history))
            return history
        parts = await self._condensing()
        situation = await self._situation(parts, history, trigger, size)
        made = None
        try:
            if not await self._can_wait(parts, situation):
                made = await self._cancellable(self._fit(parts, situation))
        except CondensingDeclined:
            history = await self.journal.effective_history()
            # The size is smaller if the condensation was applied just before it was cancelled.
            size = await self.weigh(history)
            if situation.is_over and size.value >= situation.tokens.value:
                raise CondensingCancelled(CANCELLED) from None
            return history
        if made is None:
            await background_drafts.begin(run, situation)
            return history
        self.puts_off = False
        return await self.journal.effective_history()

    async def condense_now(self, scope: CondenseScope | None = None) -> condense.Reduction | None:
        """Condense at the user's request, and return the applied reduction, None if cancelled.

        Raises a condense.CondenseError if it fails.
        """
        try:
            return await self._cancellable(self._condense(scope))
        except CondensingDeclined:
            return None

    async def _condense(self, scope: CondenseScope | None) -> condense.Reduction | None:
        history, pk = await self.journal.effective_history(), self.run.conversation.pk
        parts = await self._condensing()
        await background_drafts.drop(pk, noop("The context was condensed without it."))
        size = await self._measure(history)
        situation = await self._situation(parts, history, condense.Trigger.MANUAL, size)
        if scope:
            chosen = await sync_to_async(find_chosen)(pk, history, scope)
            situation = replace(situation, chosen=chosen)
        parts.log.scope, parts.log.notes = scope, []
        try:
            return await self._fit(parts, situation)
        finally:
            parts.log.scope = None

    async def _fulfil(self, request: CondenseRequest) -> Sequence[condense.Message]:
        """Condense as the user requested, and return the new history; failures are on record."""
        reviewer = (await self._condensing()).reviewer
        self.focus, reviewer.by_hand = request.focus, request.review
        with contextlib.suppress(condense.CondenseError):
            await self.condense_now(request.scope)
        self.focus, reviewer.by_hand = self.run.request.focus, self.run.request.review
        self.audience.publish(events.CondensingAwaited(False))
        return await self.journal.effective_history()

    async def _can_wait(self, parts: TurnCondensing, situation: condense.Situation) -> bool:
        """Return True if a due condensation may come later, as the request fits without it."""
        # It may if the user put it off, and while a background draft of it is written; but not if
        # the user was asked to review its summary before a restart.
        if not situation.reason or await parts.reviewer.left_open():
            return False
        pk = self.run.conversation.pk
        read = self.journal.saver.read
        self.puts_off = self.puts_off or await read(message_store.is_put_off, pk)
        parts.log.notes = [_broken_by(situation)] if self.puts_off and not situation.fits else []
        if not situation.fits:
            return False
        return self.puts_off or await read(background_drafts.is_being_written, pk)

    async def _fit(
        self, parts: TurnCondensing, situation: condense.Situation
    ) -> condense.Reduction | None:
        """Continue a review that another process left open, apply a draft, or condense if due.

        Returns None if nothing is due. A background draft is applied only if it is enough.
        """
        if review := await parts.reviewer.left_open():
            return await parts.condenser.resume(situation, *parts.reviewer.take_up(review))
        if situation.reason not in {"asked", None}:
            pk = self.run.conversation.pk
            if await self.journal.saver.read(background_drafts.is_being_written, pk):
                self.audience.publish(events.CondensingStarted(situation.trigger))
            draft = await background_drafts.take(self.run, situation)
            if draft and await parts.log.take_over(draft[0], situation):
                try:
                    return await parts.condenser.resume(situation, *draft)
                except condense.Discarded:
                    raise
                except condense.CondenseError:
                    log.info("a draft could not be applied, as its row says")
        return await parts.condenser.fit(situation)

    async def draft_ahead(self) -> None:
        """Have a summary drafted after the turn's answer, if it may soon be needed."""
        measured = self.scale.measured_tokens or 0
        if not is_draft_near(self.run, measured, self.run.budget()):
            return
        try:
            history = await self.journal.effective_history()
            size = await self._measure(history)
            parts = await self._condensing()
            situation = await self._situation(parts, history, condense.Trigger.AUTO, size)
            await background_drafts.begin(self.run, situation)
        except Exception:
            # The user has the answer: the turn must not fail for this.
            log.exception("no draft could be begun")

    def cancel(self) -> bool:
        """Cancel the condensation that runs; the turn goes on. False when none runs."""
        if self._reducing is None:
            return False
        self._declined = True
        return self._reducing.cancel()

    async def _cancellable(
        self, work: Coroutine[Any, Any, condense.Reduction | None]
    ) -> condense.Reduction | None:
        """Return the applied reduction; raise CondensingDeclined if a person declines it."""
        # While this runs, ``cancel`` ends it, also before the attempt is on record.
        self._reducing = asyncio.create_task(work)
        try:
            return await self._reducing
        except condense.Discarded:
            self._declined = True
            raise CondensingDeclined from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            # The turn was stopped, and not only the condensation it waits for.
            if task is not None and task.cancelling():
                raise
            raise CondensingDeclined from None
        finally:
            self._reducing = None

    async def _situation(
        self,
        parts: TurnCondensing,
        history: Sequence[condense.Message],
        trigger: condense.Trigger,
        size: condense.TokenCount,
    ) -> condense.Situation:
        log, manual = parts.log, trigger is condense.Trigger.MANUAL
        return situation_of(
            self.run,
            history,
            size,
            self.toolbox,
            # With messages that were unpinned since, if a summary still carries their words.
            history=await self.journal.saver.read(with_unpinned, self.run.conversation.pk, history),
            trigger=trigger,
            focus=self.focus,
            feedback=await self.journal.saver.read(feedback_of, self.run.conversation.owner),
            environment=reading(self._describe_surroundings),
            **await self.journal.saver.read(
                Condensation.objects.last_tried, self.run.conversation.pk
            ),
            # A summary that failed or was declined is not tried again in the same turn.
            may_ask=manual or not (log.asked_in_vain or self._declined),
            in_tool_loop=bool(history and history[-1].tool_results),
        )

    def _describe_surroundings(self) -> str:
        """Return the surroundings that would be sent with a message of the user now."""
        fresh = message_store.read_conversation(self.run.conversation.pk)
        return describe_surroundings(fresh, self.run.zone, self.run.preferences)

    async def _measure(self, history: Sequence[condense.Message]) -> condense.TokenCount:
        """Return the size of the next request, counted by the provider if that may matter."""
        size, run, scale = await self.weigh(history), self.run, self.scale
        if scale.measured_tokens is not None or not (self._may_count and history):
            return size
        if size.value < CLOSE * run.budget(history).condenses_at:
            return size
        self._may_count = False
        images = self.provider.model.supports_images
        messages = await asyncio.to_thread(condense.shape_request, history, supports_images=images)
        request = ModelRequest(run.system, messages, self.toolbox.specs)
        tokens = await self.provider.count_tokens(request)
        if tokens is None:
            return size
        seq = max(message.seq for message in history)
        scale.measure(tokens, seq)
        await self.journal.saver.save(self.journal.remember_measurement, tokens, seq)
        return await self.weigh(history)


def _broken_by(situation: condense.Situation) -> str:
    """Return a sentence: a condensation that the user put off can't wait, and its reason."""
    if situation.is_over and situation.tokens.value <= situation.budget.capacity:
        return REFUSED_PROMISE
    return BROKEN_PROMISE.format(tokens=situation.tokens.value, room=situation.budget.capacity)
