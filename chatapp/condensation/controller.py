"""Keeps one conversation's context within its window: situation in, smaller history out."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asgiref.sync import sync_to_async
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.accounts.profiles import provider_for
from chatapp.agent import events
from chatapp.agent.errors import CondensingCancelled, CondensingDeclined
from chatapp.agent.ports import Audience, Journal
from chatapp.agent.prompts import describe_environment
from chatapp.agent.provider_port import ModelRequest, Provider
from chatapp.agent.summarizer import ProviderSummarizer
from chatapp.condensation import background_drafts
from chatapp.condensation.attempt_log import AttemptLog, last_tried
from chatapp.condensation.background_drafts import BackgroundDraft, BackgroundDrafts
from chatapp.condensation.condenser_setup import loaded_configuration
from chatapp.condensation.summary_reviews import SummaryReviewer
from chatapp.context.condense_requests import CondenseRequest, Scope, find_chosen
from chatapp.context.sizes import COUNTER, Scale
from chatapp.context.turn_context import TurnContext
from chatapp.conversations.locks import with_unpinned
from chatapp.models import Turn, message_store
from chatapp.models.database import reading
from chatapp.storage.retried_writes import RetriedWrites
from chatapp.toolbox.toolbox import workspace_of
from chatapp.tools import WorkspaceToolbox

log = logging.getLogger(__name__)

# From this share of the point where condensing starts, the vendor is asked for the size: before
# its first report an estimate may be wrong by half, and above it the answer may decide something.
CLOSE = 0.5


@dataclass(frozen=True, slots=True)
class Condensing:
    """What condenses in one turn: the condenser, its log, who reviews, and the draft."""

    condenser: condense.Condenser
    log: AttemptLog
    reviewer: SummaryReviewer
    ahead: BackgroundDrafts


class ContextController:
    """The agent's ``ContextKeeper`` over ``condense.Condenser``; one per run.

    What condenses is built when a condensation may be due, or somebody asks for one.
    """

    def __init__(
        self,
        run: TurnContext,
        *,
        journal: Journal,
        toolbox: WorkspaceToolbox,
        provider: Provider,
        scale: Scale,
        saver: RetriedWrites,
        audience: Audience,
    ) -> None:
        self.run = run
        self.journal = journal
        self.toolbox = toolbox
        self.provider = provider
        self.scale = scale
        self.saver = saver
        self.audience = audience
        self.focus = run.focus
        self._parts: Condensing | None = None
        self._leaving = False
        self._reducing: asyncio.Task[condense.Reduction | None] | None = None
        self._declined = False
        self._may_count = True
        # Whether what would condense by itself waits for the next turn.
        self.puts_off = False

    def build(self) -> Condensing:
        """Return what condenses, by the user's settings; reads the database."""
        run = self.run
        log = AttemptLog(
            run,
            scale=self.scale,
            saver=self.saver,
            audience=self.audience,
            on_disk=self.toolbox.holds,
            condensed_at=last_tried(run.conversation.pk),
        )
        apart = run.writer != run.profile
        provider = provider_for(run.writer) if apart else self.provider
        summarizer = ProviderSummarizer(provider, self.journal, self.audience, apart=apart)
        reviewer = SummaryReviewer(run, saver=self.saver, audience=self.audience)
        configured = loaded_configuration(run, workspace_of(run.conversation))
        condenser = configured.condenser(summarizer, COUNTER, log=log, reviewer=reviewer)
        return Condensing(condenser, log, reviewer, BackgroundDrafts(run, self.scale))

    async def _condensing(self) -> Condensing:
        """Return what condenses, built once."""
        if self._parts is None:
            self._parts = await reading(self.build)()
            if self._leaving:
                self._parts.reviewer.leave()
        return self._parts

    def leave(self) -> None:
        """Wait for nobody any more: a review that waits raises LeftWaiting."""
        self._leaving = True
        if self._parts:
            self._parts.reviewer.leave()

    def wake(self) -> None:
        """Look at what a person said to a summary."""
        if self._parts:
            self._parts.reviewer.wake()

    def weigh(self, history: Sequence[condense.Message]) -> condense.TokenCount:
        """Return the size of ``history``, as far as it is known here."""
        return self.scale.weigh(history)

    async def fit(
        self, history: Sequence[condense.Message], trigger: condense.Trigger
    ) -> Sequence[condense.Message]:
        """Return the history to send: the same, or what is left after a reduction.

        Raises a condense.CondenseError when it does not fit and could not be made to, and
        CondensingCancelled when the user cancelled what was needed.
        """
        automatic = trigger is condense.Trigger.AUTO
        if automatic and (wish := self.run.wishes.take()):
            history = await self._fulfil(wish)
        size = await self._measure(history)
        if automatic and self._is_far(size.value, self.run.budget(history)):
            return history
        parts = await self._condensing()
        situation = await self._situation(history, trigger, size)
        try:
            if (
                await self._waits(parts, situation)
                or await self._cancellable(self._fit(parts, situation)) is None
            ):
                await parts.ahead.begin(situation)
                return history
        except CondensingDeclined:
            history = await self.journal.effective_history()
            # It may have been applied at that very moment.
            if situation.is_over and self.weigh(history).value >= situation.tokens.value:
                raise CondensingCancelled(
                    _("Condensing was cancelled, and the context is too large to go on without it.")
                ) from None
            return history
        return await self.journal.effective_history()

    def _is_far(self, tokens: int, budget: condense.Budget) -> bool:
        """Whether the size is below all that a condensation, or a draft of one, could wait for."""
        run, wanted = self.run, self.run.configuration
        return not (
            budget.reason(tokens, automatic=wanted.automatic)
            or wanted.hooks.should_condense
            # A review may have been left open by another process.
            or run.turn.status == Turn.Status.WAITING
            or background_drafts.exists(run.conversation.pk)
            or background_drafts.is_near(run, tokens, budget)
        )

    async def condense_now(self, scope: Scope | None = None) -> condense.Reduction | None:
        """Condense because the user asked for it, and return what was made of it.

        Raises a condense.CondenseError where it fails; None where it was cancelled.
        """
        try:
            return await self._cancellable(self._condense(scope))
        except CondensingDeclined:
            return None

    async def _condense(self, scope: Scope | None) -> condense.Reduction | None:
        history = await self.journal.effective_history()
        parts = await self._condensing()
        await parts.ahead.drop(_("The context was condensed without it."))
        size = await self._measure(history)
        situation = await self._situation(history, condense.Trigger.MANUAL, size)
        find = sync_to_async(find_chosen)
        chosen = await find(self.run.conversation.pk, history, scope) if scope else None
        parts.log.scope = scope
        try:
            return await self._fit(parts, replace(situation, chosen=chosen))
        finally:
            parts.log.scope = None

    async def _fulfil(self, wish: CondenseRequest) -> Sequence[condense.Message]:
        """Condense as the user asked, and return what is left; the record says what came of it."""
        reviewer = (await self._condensing()).reviewer
        self.focus, reviewer.by_hand = wish.focus, wish.review
        with contextlib.suppress(condense.CondenseError):
            await self.condense_now(wish.scope)
        self.focus, reviewer.by_hand = self.run.focus, self.run.reviews
        self.audience.publish(events.CondensingAwaited(False))
        return await self.journal.effective_history()

    async def _waits(self, parts: Condensing, situation: condense.Situation) -> bool:
        """Whether a condensation is due that can wait, since the request fits without it.

        So it does where the user put it off, and while its summary is drafted; but not where it
        has begun, and its summary was shown to the user before a restart.
        """
        if not (situation.reason and situation.fits) or await parts.reviewer.is_left_open():
            return False
        if not self.puts_off:
            self.puts_off = await reading(message_store.is_put_off)(self.run.conversation.pk)
        return self.puts_off or parts.ahead.is_being_written

    async def _fit(
        self, parts: Condensing, situation: condense.Situation
    ) -> condense.Reduction | None:
        """Go on with what this turn was waiting for in another process, or see what is due.

        What was drafted is swapped in where that is enough.
        """
        if left_open := await parts.reviewer.left_open():
            return await parts.condenser.resume(situation, *left_open)
        if situation.reason not in {"asked", None}:
            if parts.ahead.is_being_written:
                self.audience.publish(events.CondensingStarted(situation.trigger))
            draft = await parts.ahead.take(situation)
            if draft and (reduction := await self._swap_in(parts, draft, situation)):
                return reduction
        return await parts.condenser.fit(situation)

    @staticmethod
    async def _swap_in(
        parts: Condensing, draft: BackgroundDraft, situation: condense.Situation
    ) -> condense.Reduction | None:
        """Apply a draft as if it had been written now; None where that fails, as its row says."""
        attempt, reduction = draft.log.attempt, draft.log.reduction
        if not (attempt and reduction and await parts.log.take_over(attempt, situation)):
            return None
        try:
            return await parts.condenser.resume(situation, attempt.id, reduction)
        except condense.Discarded:
            raise
        except condense.CondenseError:
            return None

    async def draft_ahead(self) -> None:
        """Have a summary drafted while nobody waits for it, where it may soon be needed."""
        measured = self.scale.measured_tokens or 0
        if not background_drafts.is_near(self.run, measured, self.run.budget()):
            return
        try:
            history = await self.journal.effective_history()
            size = await self._measure(history)
            parts = await self._condensing()
            situation = await self._situation(history, condense.Trigger.AUTO, size)
            await parts.ahead.begin(situation)
        except Exception:
            # The answer is there, and nothing waits for this.
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
        """Return what comes of a condensation; raise CondensingDeclined where it is not wanted.

        It can be from here on, also while nothing is on record yet.
        """
        self._reducing = asyncio.create_task(work)
        try:
            return await self._reducing
        except condense.Discarded:
            self._declined = True
            raise CondensingDeclined from None
        except asyncio.CancelledError:
            if _is_cancelled_itself():
                raise
            raise CondensingDeclined from None
        finally:
            self._reducing = None

    async def _situation(
        self,
        history: Sequence[condense.Message],
        trigger: condense.Trigger,
        size: condense.TokenCount,
    ) -> condense.Situation:
        run, manual = self.run, trigger is condense.Trigger.MANUAL
        log = (await self._condensing()).log
        return run.configuration.situation(
            history,
            size,
            run.budget(history),
            history=await self._history(history),
            trigger=trigger,
            system=run.system,
            tools=tuple(spec.to_api() for spec in self.toolbox.specs),
            focus=self.focus,
            model=run.profile.model,
            environment=self._describe_environment,
            condensed_at=log.condensed_at,
            # A summary that failed or was declined is not tried again in the same turn.
            may_ask=manual or not (log.asked_in_vain or self._declined),
        )

    async def _history(self, effective: Sequence[condense.Message]) -> tuple[condense.Message, ...]:
        """Return what says more about pins than what is visible; mostly there is nothing."""
        if not condense.carried_pin_ids(effective):
            return ()
        return await sync_to_async(with_unpinned)(self.run.conversation.pk, effective)

    async def _measure(self, history: Sequence[condense.Message]) -> condense.TokenCount:
        """Return the size of the next request, at the vendor's word where that may matter."""
        size = self.scale.weigh(history)
        known = self.scale.measured_tokens is not None
        close = size.value >= CLOSE * self.run.budget(history).condenses_at
        if known or not (self._may_count and history and close):
            return size
        self._may_count = False
        tokens = await self._count(history)
        if tokens is None:
            return size
        seq = max(message.seq for message in history)
        self.scale.measure(tokens, seq)
        run = self.run
        await sync_to_async(message_store.remember_measurement)(
            run.conversation.pk, run.profile.pk, tokens, seq
        )
        return self.scale.weigh(history)

    async def _count(self, history: Sequence[condense.Message]) -> int | None:
        images = self.provider.model.supports_images
        messages = await asyncio.to_thread(condense.shape_request, history, supports_images=images)
        return await self.provider.count_tokens(
            ModelRequest(self.run.system, messages, self.toolbox.specs)
        )

    async def _describe_environment(self) -> str:
        files = await self.toolbox.run("list_files", {})
        return describe_environment(now=f"{timezone.now():%Y-%m-%d %H:%M} UTC", files=files.text)


def _is_cancelled_itself() -> bool:
    """Whether the turn was stopped, rather than only the condensation it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
