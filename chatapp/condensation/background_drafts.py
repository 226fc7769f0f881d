"""Summaries that are drafted in the background, and swapped in once they are needed.

A draft is written beside the turns while the conversation goes on. It stands for what the model saw
when it was begun; what came since stays as it is. Where that, or what the draft was made by, is
changed, the draft is dropped, and its row says why.
"""

import asyncio
import contextlib
import contextvars
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import override

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

import condense
from chatapp.agent.async_tasks import finish
from chatapp.agent.errors import AgentError
from chatapp.agent.ports import Nobody
from chatapp.condensation.attempt_log import AttemptLog, told_by
from chatapp.condensation.condenser_setup import condenser_for
from chatapp.context.sizes import COUNTER
from chatapp.context.turn_context import TurnContext, TurnSettings, read_terms
from chatapp.models import Condensation, Conversation, Pin, Preferences, message_store
from chatapp.models.database import lock, reading
from chatapp.storage.journal import ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites

log = logging.getLogger(__name__)

# Drafts of a process that may wait to be needed.
MOST_DRAFTS = 100

Seen = tuple[tuple[object, ...], ...]


# What drafts are made by; where it is another, they are of no use, for the reason given.
Basis = Mapping[str, tuple[object, ...]]
_CHANGED = {
    "profile": gettext_lazy("The profile was changed, so the draft was dropped."),
    "prompt": gettext_lazy("The prompt was changed, so the draft was dropped."),
    "pins": gettext_lazy("Pins were changed, so the draft was dropped."),
}


def basis_of(terms: TurnSettings) -> Basis:
    """Return what a draft would be made by now."""
    profile, writer, wanted = terms.profile, terms.writer, terms.preferences
    pins = Pin.objects.in_force(terms.conversation.pk).order_by("pk")
    own = (terms.conversation.system_prompt, profile.system_prompt, terms.configuration.prompt)
    strategy = (wanted.strategy, wanted.messages_kept, wanted.keep_first)
    beside = (wanted.attach_ledger, wanted.attach_files, wanted.check_summaries)
    return {
        "profile": tuple(
            (one.pk, one.provider, one.model, one.base_url) for one in (profile, writer)
        ),
        "prompt": (*own, *strategy, *beside),
        "pins": tuple(pins.values_list("pk", flat=True)),
    }


def seen_in(history: Sequence[condense.Message]) -> Seen:
    """Return what makes a history the same: its messages, their words and their pins."""
    return tuple((one.id, one.content, one.tags.pinned) for one in history)


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


@dataclass(slots=True, eq=False)
class BackgroundDraft:
    """A summary that is being written before it is needed, or waits to be."""

    journal: ConversationJournal
    log: DraftLog
    condenser: condense.Condenser
    basis: Basis | None = None
    seen: Seen = ()
    task: asyncio.Task[None] | None = None

    @property
    def is_written(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.task is None or self.task.done()

    def begin(self, situation: condense.Situation) -> None:
        """Have it written by a task of its own, which outlives the turn."""
        self.seen = seen_in(situation.effective)
        # A request's own context would take its thread for queries along when it ends.
        work = self._write(situation)
        self.task = asyncio.create_task(work, context=contextvars.Context())
        self.task.add_done_callback(self._forget)

    def _forget(self, _task: asyncio.Task[None]) -> None:
        """Forget it where it came to nothing."""
        pk = self.journal.run.conversation.pk
        if self.log.reduction is None and drafts.get(pk) is self:
            del drafts[pk]

    async def _write(self, situation: condense.Situation) -> None:
        try:
            self.basis = await reading(basis_of)(self.journal.run)
            # The journal learns what it will be shown.
            await self.journal.effective_history()
            await self.condenser.fit(situation)
        except (condense.CondenseError, AgentError) as error:
            log.info("a draft came to nothing: %s", error)
        except Exception:
            log.exception("a draft could not be written")
        if reduction := self.log.reduction:
            places = {one.id: place for place, one in enumerate(situation.effective)}
            self.seen = self.seen[: places[reduction.hidden[-1]] + 1]

    def stale(self, effective: Sequence[condense.Message], basis: Basis | None = None) -> str:
        """Say why it can't stand for what the model sees now, "" where it can."""
        if seen_in(effective[: len(self.seen)]) != self.seen:
            return _("The messages it summarised changed, so the draft was dropped.")
        if self.basis is None or basis is None:
            return ""
        changed = [said for name, said in _CHANGED.items() if basis[name] != self.basis[name]]
        return str(changed[0]) if changed else ""

    async def drop(self, reason: str) -> None:
        """Stop writing it; its row says why it was not used, and what it cost."""
        if self.task and not self.task.done():
            self.task.cancel()
            await asyncio.wait({self.task})
        await self.log.close(reason)


# By conversation.
drafts: dict[uuid.UUID, BackgroundDraft] = {}


async def begin(journal: ConversationJournal, situation: condense.Situation) -> None:
    """Have a draft written where one is wanted and none is there that could be used.

    A turn never ends for what goes wrong with it.
    """
    try:
        await _begin(journal, situation)
    except Exception:
        log.exception("no draft could be begun")


async def _begin(journal: ConversationJournal, situation: condense.Situation) -> None:
    run, pk = journal.run, journal.run.conversation.pk
    if (draft := drafts.get(pk)) and (reason := draft.stale(situation.effective)):
        await drop(pk, reason)
    tokens, budget = situation.tokens.value, situation.budget
    if pk in drafts or not situation.effective or not is_near(run, tokens, budget):
        return
    least = budget.percent(int(run.preferences.draft_share / 100 * budget.condenses_at))
    tried = max(situation.condensed_at, await reading(_last_begun)(pk))
    drafted = replace(budget, threshold=least)
    # What is so now of the environment is not so any more when the draft is applied.
    near = replace(situation, budget=drafted, condensed_at=tried, environment=None)
    if len(drafts) >= MOST_DRAFTS:
        await drop(next(iter(drafts)), _("Too many drafts were waiting."))
    if draft := await reading(new_draft)(journal):
        drafts[pk] = draft
        draft.begin(near)


def _last_begun(conversation_id: uuid.UUID) -> int:
    """Return the newest message's seq when a draft was last begun, 0 where none ever was."""
    made = Condensation.objects.filter(trigger=Condensation.Trigger.AHEAD)
    begun = made.filter(conversation=conversation_id).order_by("-at_seq")
    return begun.values_list("at_seq", flat=True).first() or 0


def new_draft(answered: ConversationJournal) -> BackgroundDraft | None:
    """Return a draft that can be begun, None where no strategy has a summary written."""
    journal = DraftJournal(answered.run, answered.scale, RetriedWrites(Nobody()))
    log = DraftLog(journal)
    condenser = condenser_for(journal, log)
    condenser.strategies = [one for one in condenser.strategies if condense.asks_model(one)]
    return BackgroundDraft(journal, log, condenser) if condenser.strategies else None


async def take(
    run: TurnContext, situation: condense.Situation
) -> tuple[str, condense.Reduction] | None:
    """Return attempt and reduction of the draft that can be swapped in, once it is written.

    It is nobody else's from then on. One that can't be used is dropped.
    """
    pk = run.conversation.pk
    if (draft := drafts.get(pk)) is None:
        return None
    await settled(pk)
    if draft.log.attempt is None or draft.log.reduction is None:
        return None
    basis = await reading(basis_of)(run)
    if reason := draft.stale(situation.effective, basis) or draft.log.refit(situation):
        await drop(pk, reason)
        return None
    drafts.pop(pk, None)
    return draft.log.attempt.id, draft.log.reduction


def is_near(terms: TurnSettings, tokens: int, budget: condense.Budget) -> bool:
    """Whether a draft is wanted for a context of this size."""
    share = terms.preferences.draft_share / 100
    return tokens >= share * budget.condenses_at and is_wanted(terms)


def is_wanted(terms: TurnSettings) -> bool:
    """Whether summaries are drafted: as the user wishes, or where that costs nothing."""
    wanted, writer = terms.preferences, terms.writer
    if not wanted.auto_condense or wanted.clear_tool_output:
        return False
    if wanted.draft_ahead == Preferences.Drafting.FREE:
        is_free = writer.cost_of(condense.Usage(input=1, output=1)) == 0
        return is_free and not writer.spec.writes_at_once
    return wanted.draft_ahead == Preferences.Drafting.ALWAYS


def is_ready(conversation_id: uuid.UUID) -> bool:
    """Whether a draft of a conversation waits to be needed."""
    draft = drafts.get(conversation_id)
    return draft is not None and draft.log.reduction is not None


def is_being_written(conversation_id: uuid.UUID) -> bool:
    """Whether a draft of a conversation is not written yet."""
    draft = drafts.get(conversation_id)
    return draft is not None and not draft.is_written


async def settled(conversation_id: uuid.UUID) -> None:
    """Return once no draft of a conversation is being written."""
    if (draft := drafts.get(conversation_id)) and draft.task:
        await asyncio.wait({draft.task})


async def drop(conversation_id: uuid.UUID, reason: str) -> None:
    """Drop the draft of a conversation, if there is one."""
    if draft := drafts.pop(conversation_id, None):
        # Nobody else can close its row any more.
        await finish(draft.drop(reason))


async def drop_all(reason: str) -> None:
    """Drop the drafts of all conversations."""
    for conversation_id in [*drafts]:
        with contextlib.suppress(Exception):
            await drop(conversation_id, reason)


async def check(conversation_id: uuid.UUID) -> None:
    """Drop the draft of a conversation where a change has made it useless."""
    if (draft := drafts.get(conversation_id)) is None:
        return
    reason = await reading(_reason)(draft)
    if reason and drafts.get(conversation_id) is draft:
        await drop(conversation_id, reason)


def _reason(draft: BackgroundDraft) -> str:
    pk = draft.journal.run.conversation.pk
    if (now := read_terms(pk)) is None:
        return str(_CHANGED["profile"])
    return draft.stale(message_store.read_effective(pk), basis_of(now))
