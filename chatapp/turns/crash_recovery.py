"""Crash recovery: calls, tools and attempts that a turn left open are closed with known facts."""

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.agent.annotated_blocks import result_block
from chatapp.agent.ports import PartialReply
from chatapp.agent.prompts import NOT_RUN_RESULT
from chatapp.context import sizes
from chatapp.models import (
    Condensation,
    Message,
    ModelCall,
    Profile,
    Question,
    Review,
    ToolRun,
    Turn,
    message_store,
)
from chatapp.storage import partial_replies
from chatapp.telemetry import note_call

INTERRUPTED = "interrupted"


def close_what_is_open(turn: Turn, reason: str) -> None:
    """Close a turn's calls, tools and attempts; what was written of an answer becomes its message.

    It is part of the transaction that ends the turn, and does nothing where nothing is open.
    """
    for call in _open_calls(turn):
        _close_call(call, turn, reason)
    _answer_calls(turn)
    turn.questions.filter(status=Question.Status.PENDING).change(
        status=Question.Status.WITHDRAWN, answered_at=timezone.now()
    )
    for attempt in turn.condensations.filter(status=Condensation.Status.RUNNING):
        Review.objects.withdraw(attempt.pk)
        spent = ModelCall.objects.filter(condensation=attempt).spent()
        Condensation.objects.filter(pk=attempt.pk).change(
            status=Condensation.Status.FAILED, error=reason, finished_at=timezone.now(), **spent
        )


def close_left() -> None:
    """Close what a process has left beside its turns: calls for titles, and drafts."""
    _close_titles()
    _close_drafts()


def _close_titles() -> None:
    """Close the calls for titles, and for what was only tried, that a process has left.

    What was tried is part of no turn and no draft, and nobody knows what it cost.
    """
    left = ModelCall.objects.filter(status=ModelCall.Status.RUNNING)
    stopped = _("The server stopped meanwhile.")
    tried = left.filter(turn=None, condensation=None).exclude(purpose=ModelCall.Purpose.TITLE)
    tried.update(status=ModelCall.Status.INTERRUPTED, cost=None, error=stopped)
    titles = left.filter(purpose=ModelCall.Purpose.TITLE)
    for call in titles.select_related("turn__profile"):
        profile = call.turn.profile if call.turn else None
        _account(call, profile, partial_replies.writer.newest(call), error=stopped)


def _close_drafts() -> None:
    """Close the drafts that a process has left: nobody can use them any more."""
    reason = _("The server stopped meanwhile.")
    status, left = ModelCall.Status.RUNNING, Condensation.objects.filter(turn=None)
    calls = ModelCall.objects.filter(condensation__in=left, turn=None, status=status)
    for call in calls.select_related("conversation__owner", "condensation"):
        named = call.conversation.owner.profiles.filter(name=call.profile_name)
        _account(call, named.first(), partial_replies.writer.newest(call), error=reason, draft="")
    for attempt in left.filter(status__in=Condensation.OPEN):
        spent = ModelCall.objects.filter(condensation=attempt).spent()
        ended = {"finished_at": attempt.finished_at or timezone.now(), **spent}
        unused = Condensation.objects.filter(pk=attempt.pk)
        unused.change(status=Condensation.Status.UNUSED, error=reason, **ended)


def came_to_its_end(turn: Turn) -> bool:
    """Whether all that a turn was to do is stored, and only its end is not."""
    last = _last_message(turn)
    if last is None or last.role != Message.Role.ASSISTANT or last.is_cut:
        return False
    return not (message_store.to_engine(last).tool_uses or _open_calls(turn).exists())


def _open_calls(turn: Turn) -> QuerySet[ModelCall]:
    return turn.calls.filter(status=ModelCall.Status.RUNNING)


def _last_message(turn: Turn) -> Message | None:
    said = Message.objects.filter(conversation=turn.conversation_id, turn=turn)
    return said.in_force().written().newest()


def _close_call(call: ModelCall, turn: Turn, reason: str) -> None:
    draft, row = partial_replies.writer.newest(call), None
    if draft.shows and call.purpose == ModelCall.Purpose.CHAT:
        message = condense.Message(role="assistant", content=draft.content)
        row = _append(turn, message, stop_reason=INTERRUPTED)
    error = reason or _("The turn ended before this call did.")
    kept = partial_replies.kept(draft) if row else ""
    _account(call, turn.profile, draft, error=error, draft=kept, message=row)


def _account(
    call: ModelCall, profile: Profile | None, written: PartialReply, **columns: Any
) -> None:
    """Put into the accounts what is known of a call that broke off."""
    usage, status = _usage_known(call, written), ModelCall.Status.INTERRUPTED
    cost = profile.cost_of(usage) if profile else Decimal(0)
    ModelCall.objects.filter(pk=call.pk).update(
        **message_store.usage_columns(usage), **columns, status=status, cost=cost
    )
    transaction.on_commit(partial(partial_replies.writer.forget, call.pk))
    transaction.on_commit(partial(note_call, call.purpose, status, usage, cost))


def _usage_known(call: ModelCall, written: PartialReply) -> condense.Usage:
    """Return what was reported of a call that broke off, and estimates of the rest."""
    estimate = call.tokens_estimated or 0
    if call.condensation:
        estimate = call.condensation.tokens_before
    told = written.usage
    return replace(
        told,
        input=told.input if told.prompt else estimate,
        output=max(told.output, sizes.COUNTER.count(written.written)),
    )


def _answer_calls(turn: Turn) -> None:
    """Store results for a reply whose calls have none: those that are known, and why not."""
    last = _last_message(turn)
    calls = (
        message_store.to_engine(last).tool_uses
        if last and last.role == Message.Role.ASSISTANT
        else ()
    )
    if not (last and calls):
        return
    began = turn.tool_runs.filter(started_at__gte=last.created_at)
    runs = {run.call_id: run for run in began}
    said = Question.objects.answers_to(turn, last.seq)
    results = tuple(
        _result(call, runs.get(call.id), said.get(place, "")) for place, call in enumerate(calls)
    )
    _append(turn, condense.Message(role="user", content=results))
    began.update(text="")


def _result(
    call: condense.ToolUseBlock, run: ToolRun | None, words: str
) -> condense.ToolResultBlock:
    if run is None:
        return condense.ToolResultBlock(call.id, NOT_RUN_RESULT, is_error=True)
    if run.finished_at is None:
        return condense.ToolResultBlock(call.id, condense.INTERRUPTED, is_error=True)
    return result_block(call, run.text, is_error=run.is_error, words=words)


def _append(turn: Turn, message: condense.Message, **columns: Any) -> Message:
    tokens = condense.count_message(message, sizes.COUNTER)
    return message_store.append_message(
        turn.conversation_id, message, tokens=tokens, turn=turn, **columns
    )
