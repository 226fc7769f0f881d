"""Summaries that are drafted in the background, and swapped in once they are needed.

A draft is written while the conversation goes on, by any process. It stands for the effective
history at its beginning; messages since stay as they are. If that history or the draft's settings
change, the draft is dropped, and its record has the reason.
"""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Sequence
from dataclasses import replace

from asgiref.sync import sync_to_async
from django.db import transaction

import condense
from chatapp.agent.async_tasks import finish
from chatapp.agent.ports import Nobody
from chatapp.condensing.condenser_setup import loaded_configuration
from chatapp.condensing.draft_writer import LOOK, basis_of, close, seen_in
from chatapp.conversations.context.sizes import COUNTER, is_draft_near
from chatapp.conversations.context.turn_context import TurnContext, TurnSettings, read_terms
from chatapp.models import BackgroundDraft, Conversation, message_store
from chatapp.models.database import lock, reading
from chatapp.models.processes import is_left, this_process
from chatapp.operations.background_jobs import enqueue
from chatapp.storage.partial_replies import RetriedWrites
from condense import noop

log = logging.getLogger(__name__)

_STOPPED = noop("The server stopped meanwhile.")
_CHANGED = {
    "profile": noop("The profile was changed, so the draft was dropped."),
    "prompt": noop("The prompt was changed, so the draft was dropped."),
    "pins": noop("Pins were changed, so the draft was dropped."),
}


async def begin(run: TurnContext, situation: condense.Situation) -> None:
    """Have a draft written if the next condensation is near and no usable draft exists.

    Errors are logged: no turn fails for them.
    """
    wanted = situation.effective and situation.may_ask
    try:
        if wanted and is_draft_near(run, situation.tokens.value, situation.budget):
            await _begin(run, situation.effective)
    except Exception:
        log.exception("no draft could be begun")


async def _begin(run: TurnContext, effective: Sequence[condense.Message]) -> None:
    pk = run.conversation.pk
    if draft := await reading(_find)(pk):
        if not (reason := await reading(why_useless)(draft, effective)):
            return
        await drop(pk, reason)
    await sync_to_async(_open)(run)


@transaction.atomic
def _open(run: TurnContext) -> None:
    """Request a draft, unless there is one, or no strategy asks a model for a summary."""
    pk, wanted = run.conversation.pk, loaded_configuration(run)
    lock(Conversation, pk)
    asks = [not isinstance(one, str) and condense.asks_model(one) for one in wanted.strategies]
    if any(asks) and not BackgroundDraft.objects.filter(conversation=pk).exists():
        BackgroundDraft.objects.create(conversation_id=pk, owner=this_process())
        enqueue("write_draft", conversation=str(pk))


def _find(conversation_id: uuid.UUID) -> BackgroundDraft | None:
    """Return the draft of a conversation without its proposal, None without one."""
    return BackgroundDraft.objects.defer("proposal").filter(conversation=conversation_id).first()


def why_useless(
    draft: BackgroundDraft, effective: Sequence[condense.Message], terms: TurnSettings | None = None
) -> str:
    """Return the reason that a draft can't replace the effective history, "" if it can.

    Without ``terms``, changes of settings and pins do not count.
    """
    if draft.written_at is None and is_left(draft.owner):
        return _STOPPED
    if draft.condensation_id is None:
        return ""
    if seen_in(effective[: draft.count]) != draft.seen:
        return noop("The messages it summarised changed, so the draft was dropped.")
    now = basis_of(terms) if terms else draft.basis
    changed = [said for name, said in _CHANGED.items() if draft.basis[name] != now[name]]
    return changed[0] if changed else ""


async def take(
    run: TurnContext, situation: condense.Situation
) -> tuple[str, condense.Reduction] | None:
    """Return attempt and reduction of the draft that can be swapped in, once it is written.

    One that can't be is dropped. It is this turn's alone after ``AttemptLog.take_over``.
    """
    pk = run.conversation.pk
    if not await settled(pk):
        return None
    attempt, made, reason = await reading(_read)(run, situation)
    if reason:
        await drop(pk, reason)
    return (attempt, made) if made else None


def _read(
    run: TurnContext, situation: condense.Situation
) -> tuple[str, condense.Reduction | None, str]:
    """Return attempt and reduction of the written draft, and the reason it can't be used."""
    written = BackgroundDraft.objects.exclude(written_at=None)
    draft = written.filter(conversation=run.conversation.pk).first()
    if draft is None:
        return "", None, ""
    if reason := why_useless(draft, situation.effective, run):
        return "", None, reason
    try:
        drafted = condense.Proposal.from_json(draft.proposal).reduction
        made = refit(drafted, situation, run.configuration.policy)
    except condense.CondenseError as error:
        return "", None, str(error)
    return str(draft.condensation_id), made, ""


def refit(
    made: condense.Reduction, situation: condense.Situation, policy: condense.Policy
) -> condense.Reduction:
    """Return a reduction as one of this situation; raise CondenseError if it gains too little."""
    gauge = condense.Gauge(situation, COUNTER)
    before, after = gauge.compare(made.hidden, made.message)
    if situation.budget.reason(after.value, automatic=situation.automatic):
        said = noop("Newer messages grew too large, so the draft was dropped.")
        raise condense.DidNotShrink(said)
    fitted = replace(made, tokens_before=before, tokens_after=after)
    condense.Ladder(situation, policy, gauge).check(fitted)
    return fitted


async def settled(conversation_id: uuid.UUID) -> bool:
    """Wait until nobody writes the draft of a conversation; return True if it is written then.

    One that nobody has begun to write, or whose writer is gone, is dropped.
    """
    while draft := await reading(_find)(conversation_id):
        if draft.written_at:
            return True
        if draft.condensation_id is None or await reading(is_left)(draft.owner):
            await drop(conversation_id, _STOPPED)
        else:
            await asyncio.sleep(LOOK)
    return False


def is_ready(conversation_id: uuid.UUID) -> bool:
    """Return True while a written draft of a conversation waits for its use."""
    own = BackgroundDraft.objects.filter(conversation=conversation_id)
    return own.exclude(written_at=None).exists()


def is_being_written(conversation_id: uuid.UUID) -> bool:
    """Return True while a draft of a conversation is not written yet."""
    return BackgroundDraft.objects.filter(written_at=None, conversation=conversation_id).exists()


async def drop(conversation_id: uuid.UUID, reason: str) -> None:
    """Drop the draft of a conversation, if there is one; its writer stops soon."""
    await finish(RetriedWrites(Nobody()).save(_close, conversation_id, reason))


@transaction.atomic
def _close(conversation_id: uuid.UUID, reason: str) -> None:
    lock(Conversation, conversation_id)
    if draft := _find(conversation_id):
        close(draft, reason)


async def drop_all(reason: str) -> None:
    """Drop the drafts that are written here; those that are ready wait for the next process."""
    own = BackgroundDraft.objects.filter(written_at=None, owner=this_process())
    begun = own.exclude(condensation=None).values_list("conversation", flat=True)
    with contextlib.suppress(Exception):
        for conversation_id in await reading(list)(begun):
            await drop(conversation_id, reason)


async def check(conversation_id: uuid.UUID) -> None:
    """Drop the draft of a conversation if a change has made it useless."""
    if reason := await reading(_reason)(conversation_id):
        await drop(conversation_id, reason)


def _reason(conversation_id: uuid.UUID) -> str:
    if (draft := _find(conversation_id)) is None:
        return ""
    if (terms := read_terms(conversation_id)) is None:
        return _CHANGED["profile"]
    if terms.conversation.deleted_at:
        return noop("The conversation was deleted.")
    return why_useless(draft, message_store.read_effective(conversation_id), terms)
