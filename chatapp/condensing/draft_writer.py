"""The writer of background drafts: a job that any process does, from stored rows.

It checks each second that the draft was not dropped: if it was, it stops, and nothing more is
spent. All calls stay accounted for.
"""

import asyncio
import hashlib
import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import override

from django.db import DatabaseError, transaction
from django.db.models import Max
from django.utils import timezone

import condense
from chatapp.agent.async_tasks import finish
from chatapp.agent.errors import AgentError
from chatapp.agent.ports import Nobody
from chatapp.condensing.attempt_log import AttemptLog, told_by
from chatapp.condensing.condenser_setup import condenser_for, situation_of
from chatapp.condensing.ratings import feedback_of
from chatapp.conversations.context.sizes import Scale
from chatapp.conversations.context.turn_context import TurnContext, TurnSettings, read_terms
from chatapp.conversations.locks import with_unpinned
from chatapp.conversations.toolbox.toolbox import toolbox_for
from chatapp.models import BackgroundDraft, Condensation, Conversation, Pin, Turn
from chatapp.models.calls import taken_by
from chatapp.models.database import lock, reading
from chatapp.models.fields import sentences_in
from chatapp.models.processes import this_process
from chatapp.project.telemetry import note_condensation
from chatapp.storage.journal import Calls, ConversationJournal
from chatapp.storage.partial_replies import RetriedWrites
from condense import noop

log = logging.getLogger(__name__)

# Seconds from one look at a draft's row to the next.
LOOK = 1.0

_UNUSED = Condensation.Status.UNUSED


def basis_of(terms: TurnSettings) -> Mapping[str, str]:
    """Return digests of a draft's inputs; if one differs later, the draft is useless."""
    profile, writer, wanted = terms.profile, terms.writer, terms.preferences
    pins = Pin.objects.in_force(terms.conversation.pk).order_by("pk")
    told = (terms.conversation.system_prompt, profile.system_prompt, wanted.about_me)
    own = (*told, terms.configuration.prompt)
    kept = (wanted.messages_kept, terms.tokens_kept, wanted.keep_first)
    checks = (wanted.check_summaries, terms.configuration.policy.finds_contradictions)
    beside = (wanted.attach_ledger, wanted.attach_files, *checks)
    made_by = {
        "profile": [(one.pk, one.provider, one.model, one.base_url) for one in (profile, writer)],
        "prompt": [*own, wanted.strategy, *kept, *beside],
        "pins": [*pins.values_list("pk", flat=True)],
    }
    return {name: _digest(values) for name, values in made_by.items()}


def seen_in(history: Sequence[condense.Message]) -> str:
    """Return a digest of a history's identity: its messages, their contents and pins."""
    to_api = condense.content_to_api
    return _digest([(one.id, to_api(one.content), one.tags.pinned) for one in history])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


class DraftDropped(AgentError):
    """The draft was dropped, or another process writes it: nothing more is stored here."""


def journal_outside(
    terms: TurnSettings, scale: Scale, *, is_trial: bool = False
) -> ConversationJournal:
    """Return a journal of calls that no turn ends; half a summary of a trial is not kept."""
    run = TurnContext(
        conversation=terms.conversation,
        profile=terms.profile,
        preferences=terms.preferences,
        turn=Turn(),
    )
    calls = Calls(in_turn=False, goes_on=False, keeps_parts=not is_trial, in_attempt=not is_trial)
    return ConversationJournal(run, scale, RetriedWrites(Nobody()), calls)


class DraftLog(AttemptLog):
    """A log that keeps a finished reduction in the row of a draft, and does not apply it.

    Each write raises DraftDropped if that row is gone, or is another writer's.
    """

    drafts = True

    def __init__(
        self, journal: ConversationJournal, draft: BackgroundDraft, basis: Mapping[str, str]
    ) -> None:
        super().__init__(journal)
        self.draft, self.basis = draft, basis

    def _change(self, **columns: object) -> None:
        """Change the draft's row, as long as it is this writer's."""
        lock(Conversation, self.draft.conversation_id)
        own = BackgroundDraft.objects.filter(written_at=None, pk=self.draft.pk)
        if not own.filter(condensation=self.draft.condensation_id).update(**columns):
            raise DraftDropped(noop("The draft was dropped."))

    @override
    @transaction.atomic
    def _create(self, attempt: condense.Attempt) -> None:
        lock(Conversation, self.draft.conversation_id)
        super()._create(attempt)
        self._change(
            condensation=attempt.id,
            owner=this_process(),
            basis=self.basis,
            seen=seen_in(attempt.effective),
            count=len(attempt.effective),
        )
        own = partial(setattr, self.draft, "condensation_id", uuid.UUID(attempt.id))
        transaction.on_commit(own)

    @override
    async def succeeded(self, attempt: condense.Attempt, reduction: condense.Reduction) -> None:
        """Keep the reduction, with its record."""
        await self.saver.save(self._keep, attempt, reduction)
        self.draft.written_at = timezone.now()

    @transaction.atomic
    def _keep(self, attempt: condense.Attempt, reduction: condense.Reduction) -> None:
        places = {one.id: place for place, one in enumerate(attempt.effective)}
        count = places[reduction.hidden[-1]] + 1
        proposal = condense.Proposal(reduction=reduction, by_model=True).to_json()
        self._change(
            seen=seen_in(attempt.effective[:count]),
            count=count,
            proposal=proposal,
            sentences=sentences_in(proposal),
            written_at=timezone.now(),
        )
        self._finish(attempt, Condensation.Status.DRAFTED, **told_by(reduction))

    @override
    @transaction.atomic
    def _give_up(self, attempt: condense.Attempt, status: str, **columns: object) -> None:
        self._change(owner=this_process())
        super()._give_up(attempt, status, **columns)

    @override
    async def cancelled(self, attempt: condense.Attempt) -> None:
        """Leave the row alone: the code that cancels it stores the reason."""


# The drafts that are written here.
written_here: set[int] = set()


async def write_draft(conversation_id: uuid.UUID) -> None:
    """Write the draft that a conversation waits for, unless it is dropped meanwhile."""
    waiting = BackgroundDraft.objects.filter(conversation=conversation_id, condensation=None)
    if (draft := await reading(waiting.first)()) is None:
        return
    writing = asyncio.create_task(_write(draft))
    try:
        while not (await asyncio.wait({writing}, timeout=LOOK))[0]:
            if not await reading(_is_wanted)(draft):
                writing.cancel()
    finally:
        writing.cancel()
        await finish(asyncio.wait({writing}))


def _is_wanted(draft: BackgroundDraft) -> bool:
    """Return True if the draft is still there."""
    try:
        return BackgroundDraft.objects.filter(pk=draft.pk).exists()
    except DatabaseError as error:
        log.warning("a draft could not be looked at: %s", error)
        return True


async def _write(draft: BackgroundDraft) -> None:
    reason = noop("The draft came to nothing.")
    written_here.add(draft.pk)
    try:
        try:
            condenser, situation = await reading(_prepare)(draft)
            await condenser.fit(situation)
        except asyncio.CancelledError:
            # If the draft was dropped, its record has the reason already.
            reason = noop("The server was stopped.")
            raise
        finally:
            if draft.written_at is None:
                await finish(RetriedWrites(Nobody()).save(close, draft, reason))
    except (condense.CondenseError, AgentError) as error:
        log.info("a draft came to nothing: %s", type(error).__name__)
    except Exception:
        log.exception("a draft could not be written")
    finally:
        written_here.discard(draft.pk)


def _prepare(draft: BackgroundDraft) -> tuple[condense.Condenser, condense.Situation]:
    """Return the condenser for the draft, and the situation: the conversation as it is stored."""
    pk = draft.conversation_id
    terms = read_terms(pk)
    if terms is None or terms.conversation.deleted_at:
        raise DraftDropped(noop("The conversation was deleted, or has no profile any more."))
    # Before its inputs are read: a change of one meanwhile makes the draft useless.
    basis = basis_of(terms)
    conversation, profile = terms.conversation, terms.profile
    journal = journal_outside(terms, Scale.read(terms))
    effective = journal.read_history()
    tried = Condensation.objects.filter(conversation=pk).aggregate(seq=Max("at_seq"))["seq"]
    # The environment is added when the draft is applied, as it is then.
    situation = situation_of(
        terms,
        effective,
        journal.scale.weigh(effective),
        toolbox_for(terms.folder, conversation, profile),
        history=with_unpinned(pk, effective),
        feedback=feedback_of(conversation.owner),
        condensed_at=tried or 0,
    )
    budget, share = situation.budget, terms.preferences.draft_share / 100
    early = replace(budget, threshold=budget.percent(int(share * budget.condenses_at)))
    condenser = condenser_for(journal, DraftLog(journal, draft, basis))
    condenser.strategies = [one for one in condenser.strategies if condense.asks_model(one)]
    return condenser, replace(situation, budget=early)


@transaction.atomic
def close(draft: BackgroundDraft, reason: str) -> None:
    """Remove a draft; its record keeps the reason it was not used, and its cost."""
    lock(Conversation, draft.conversation_id)
    own = BackgroundDraft.objects.filter(pk=draft.pk, condensation=draft.condensation_id)
    own.delete()
    # A draft that a turn has taken over belongs to the turn.
    attempts = Condensation.objects.filter(turn=None, status__in=(*Condensation.OPEN, _UNUSED))
    for attempt in attempts.filter(pk__in=[draft.condensation_id]):
        close_attempt(attempt, reason)


def close_attempt(attempt: Condensation, reason: str) -> None:
    """Store an attempt's cost by now, and the reason it was not used, unless it has one."""
    ended = attempt.finished_at or timezone.now()
    columns = taken_by(attempt, ended)
    if attempt.status != _UNUSED:
        cause = attempt.trigger, attempt.kind, _UNUSED
        note_condensation(*cause, columns["work_seconds"], columns["total_cost"])
        columns |= {"status": _UNUSED, "error": reason, "finished_at": ended}
    Condensation.objects.filter(pk=attempt.pk).change(**columns)
