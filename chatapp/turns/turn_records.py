"""The records of a turn: open ones are closed with the facts that are known."""

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

import condense
from chatapp.agent.annotated_blocks import result_block
from chatapp.agent.prompts import NOT_RUN_RESULT
from chatapp.conversations.context import sizes
from chatapp.models import (
    Condensation,
    Conversation,
    HistoryLink,
    Message,
    ModelCall,
    Profile,
    Question,
    Review,
    ToolRun,
    Turn,
    message_store,
)
from chatapp.models.calls import taken_by
from chatapp.models.database import lock
from chatapp.models.fields import sentences_in
from chatapp.project.telemetry import note_call
from chatapp.storage.partial_replies import kept_draft, partial_replies

INTERRUPTED = "interrupted"


def close_what_is_open(turn: Turn, reason: str) -> None:
    """Close a turn's calls, tools and attempts; the text of a partial answer becomes its message.

    It is part of the transaction that ends the turn, and does nothing if nothing is open.
    """
    for call in turn.calls.filter(status=ModelCall.Status.RUNNING):
        draft, row = partial_replies.newest(call), None
        if draft.shows and call.purpose == ModelCall.Purpose.CHAT:
            message = condense.Message(role="assistant", content=draft.content)
            row = _append(turn, message, stop_reason=INTERRUPTED)
        error = reason or condense.noop("The turn ended before this call did.")
        kept = kept_draft(draft) if row else ""
        account_for(call, error=error, draft=kept, message=row)
    _answer_calls(turn)
    turn.questions.filter(status=Question.Status.PENDING).change(
        status=Question.Status.WITHDRAWN, answered_at=timezone.now()
    )
    for attempt in turn.condensations.filter(status=Condensation.Status.RUNNING):
        Review.objects.withdraw(attempt.pk)
        ended = timezone.now()
        Condensation.objects.filter(pk=attempt.pk).change(
            status=Condensation.Status.FAILED,
            error=reason,
            finished_at=ended,
            **taken_by(attempt, ended),
        )


@transaction.atomic
def keep_passed_on(call: ModelCall, reason: str) -> None:
    """Close a call that the gateway was passing on; its partial answer becomes its message."""
    lock(Conversation, call.conversation_id)
    draft, row = partial_replies.newest(call), None
    if draft.shows and call.purpose == ModelCall.Purpose.CHAT:
        message = condense.Message("assistant", draft.content)
        tokens = condense.count_message(message, sizes.COUNTER)
        talk, before = call.conversation_id, HistoryLink.newest_in(call.conversation_id)
        row = message_store.append_message(talk, message, tokens=tokens, stop_reason=INTERRUPTED)
        HistoryLink.put_behind(before or b"", row)
    turn = Turn.objects.note(call.conversation, Turn.Status.INTERRUPTED, reason)
    account_for(call, error=reason, draft=kept_draft(draft), message=row, turn=turn)


def came_to_its_end(turn: Turn) -> bool:
    """Return True if all of a turn's work is stored, and only its end is not."""
    last = _last_message(turn)
    if last is None or last.role != Message.Role.ASSISTANT or last.is_cut:
        return False
    is_calling = turn.calls.filter(status=ModelCall.Status.RUNNING).exists()
    return not (message_store.to_engine(last).tool_uses or is_calling)


def _last_message(turn: Turn) -> Message | None:
    said = Message.objects.filter(conversation=turn.conversation_id, turn=turn)
    return said.in_force().written().newest()


def account_for(call: ModelCall, *, error: str, **columns: Any) -> None:
    """Account for a call that broke off: by its reported usage, and estimates of the rest."""
    owner = call.conversation.owner
    named = Profile.objects.filter(owner=owner, name=call.profile_name, provider=call.provider)
    # If the profile was changed since, nobody knows who paid.
    profile = named.first() or Profile(owner=owner, provider=call.provider)
    if profile.model != call.model:
        profile = profile.for_model(call.model)
    written = partial_replies.newest(call)
    estimate = call.condensation.tokens_before if call.condensation else call.tokens_estimated
    told = written.usage
    usage = replace(
        told,
        input=told.input if told.prompt else estimate or 0,
        output=max(told.output, sizes.COUNTER.count(written.written)),
    )
    cost = profile.cost_of(usage) if call.provider else Decimal(0)
    status = ModelCall.Status.INTERRUPTED
    ModelCall.objects.filter(pk=call.pk).update(
        **message_store.usage_columns(usage),
        **columns,
        error=error,
        sentences=sentences_in(error),
        status=status,
        cost=cost,
    )
    call.pieces.all().delete()
    transaction.on_commit(partial(partial_replies.forget, call.pk))
    transaction.on_commit(partial(note_call, call.purpose, status, usage, cost))


def _answer_calls(turn: Turn) -> None:
    """Store results for a reply whose calls have none: known ones, or the reason for none."""
    last = _last_message(turn)
    if last is None or last.role != Message.Role.ASSISTANT:
        return
    calls = message_store.to_engine(last).tool_uses
    if not calls:
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
