"""Turns without a new message: tried again, continued, answered anew, or only condensing."""

import uuid
from collections.abc import Callable
from functools import partial

from django.db import transaction

import condense
from chatapp.agent.prompts import CONTINUE
from chatapp.condensing.costs import is_cheaper
from chatapp.conversations.context import sizes
from chatapp.conversations.context.condense_requests import (
    CondenseRequest,
    check_focus,
    find_chosen,
    keep_request,
)
from chatapp.conversations.context.turn_context import TurnContext, read_run, read_terms
from chatapp.conversations.conversations import check_spending
from chatapp.conversations.rewind import set_answer_aside
from chatapp.models import (
    Conversation,
    Message,
    Profile,
    Rewind,
    Turn,
    hidden_messages,
    message_store,
)
from chatapp.models.database import lock
from chatapp.models.errors import Refused
from chatapp.page.live.incoming_frames import TakeUp
from chatapp.page.live.status_panel import forecast
from chatapp.project.sentences import translate as _
from chatapp.turns.lifecycle import locked_for_new_turn, open_turn


@transaction.atomic(savepoint=False)
def take_up(conversation: Conversation, command: TakeUp) -> TurnContext | None:
    """Open a turn to "retry", "continue" or "regenerate" a message; None for a known nonce.

    The rows that offered it offer it no more. Another profile of the user may answer, this once.
    """
    nonce, profile = command.nonce, command.profile
    opened = partial(open_turn, nonce=nonce, zone=command.zone, profile_id=profile)
    with locked_for_new_turn(conversation, nonce) as locked:
        if locked is None:
            return None
        if profile:
            lock(Profile, profile)
            if not conversation.owner.profiles.filter(pk=profile).exists():
                raise Refused(_("This profile is gone. Choose another."))
        match command.how:
            case "retry":
                turn = _retry(locked, opened)
            case "continue":
                turn = _continue(locked, opened)
            case _:
                # The answer and all messages after it are set aside as a version.
                question, origin = set_answer_aside(locked, command.seq), Turn.Origin.REGENERATED
                turn = opened(locked, question_seq=question, origin=origin)
        message_store.note_record(locked.pk)
    return read_run(message_store.read_conversation(locked.pk), turn=turn)


def _retry(locked: Conversation, opened: Callable[..., Turn]) -> Turn:
    """Open a turn that repeats the failed part of the last one."""
    # The text written so far stays, except an answer that broke off: that is set aside.
    failed = _last_turn(locked)
    if failed is None or failed.status not in Turn.UNDONE:
        raise Refused(_("There is nothing to try again. Reload the page."))
    last = _last_message(locked)
    if last and last.is_cut and last.turn_id == failed.pk:
        hidden_messages.rewind(locked.pk, first_hidden_seq=last.seq, cause=Rewind.Cause.RETRIED)
    return opened(locked, question_seq=failed.question_seq, origin=Turn.Origin.RETRIED)


def _continue(locked: Conversation, opened: Callable[..., Turn]) -> Turn:
    """Open a turn that continues the last one, which ended early.

    An answer that was cut is followed by a message that asks to go on.
    """
    last, before = _last_message(locked), _last_turn(locked)
    if last is None or not (last.is_continuable or (before and _is_unanswered(last))):
        raise Refused(_("There is nothing to continue. Reload the page."))
    origin = Turn.Origin.CONTINUED
    if before and not last.is_continuable:
        return opened(locked, question_seq=before.question_seq, origin=origin)
    turn = opened(locked, question_seq=locked.last_seq + 1, origin=origin)
    message = condense.Message(role="user", content=(condense.TextBlock(CONTINUE),))
    tokens = condense.count_message(message, sizes.COUNTER)
    message_store.append_message(locked.pk, message, tokens=tokens, turn=turn)
    return turn


def _last_turn(conversation: Conversation) -> Turn | None:
    turns = Turn.objects.filter(conversation=conversation).in_force().answering()
    return turns.latest_first().first()


def _last_message(conversation: Conversation) -> Message | None:
    messages = Message.objects.filter(conversation=conversation).in_force().written()
    return messages.said().order_by("-seq").first()


def _is_unanswered(last: Message) -> bool:
    """Return True if the last message needs a reply: it is the user's, is empty, or calls tools."""
    by_user = last.role == Message.Role.USER
    return by_user or not last.content or bool(message_store.to_engine(last).tool_uses)


@transaction.atomic(savepoint=False)
def start_condensing(conversation: Conversation, request: CondenseRequest) -> TurnContext | None:
    """Open the turn of a condensation by hand; None if it was requested before.

    Raises Refused if it can't begin.
    """
    turn = open_condensing(conversation=conversation, nonce=request.nonce)
    if turn is None:
        return None
    check_condensing(conversation, request)
    keep_request(turn, request)
    return read_run(
        message_store.read_conversation(turn.conversation_id), turn=turn, request=request
    )


def start_idle(conversation_id: uuid.UUID) -> TurnContext | None:
    """Open the turn of a condensation while idle, None if that is not cheaper.

    Raises Refused if it can't begin.
    """
    terms = read_terms(conversation_id)
    if terms is None or not is_cheaper(terms, message_store.read_outline(conversation_id)[0]):
        return None
    check_spending(conversation_id)
    return start_condensing(terms.conversation, CondenseRequest(uuid.uuid4(), while_idle=True))


def check_condensing(conversation: Conversation, request: CondenseRequest) -> None:
    """Raise Refused if nothing can be condensed so; else it is not put off any more.

    A request for a part says nothing of the rest, which stays put off.
    """
    check_focus(request.focus)
    if (scope := request.scope) is None:
        hides, said_nothing = sizes.hideable(*message_store.read_outline(conversation.pk))
        if hides is None:
            raise Refused(forecast(hides, said_nothing=said_nothing).nothing)
        message_store.put_off(conversation, False)
        return
    try:
        find_chosen(conversation.pk, message_store.read_effective(conversation.pk), scope)
    except condense.NothingToCondense as reason:
        raise Refused(str(reason)) from reason


def open_condensing(*, conversation: Conversation, nonce: uuid.UUID) -> Turn | None:
    """Open the turn of a condensation by hand; None if its nonce is known.

    Refused while another runs.
    """
    with locked_for_new_turn(conversation, nonce) as locked:
        if locked is None:
            return None
        return open_turn(locked, nonce, question_seq=0, origin=Turn.Origin.CONDENSED)
