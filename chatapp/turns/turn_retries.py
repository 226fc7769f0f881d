"""A turn without a new message: tried again, continued, or answered anew."""

import uuid

from django.db import transaction
from django.utils.translation import gettext as _

import condense
from chatapp.agent.prompts import CONTINUE
from chatapp.context import sizes
from chatapp.context.turn_context import TurnContext, read_run
from chatapp.conversations.rewind import set_answer_aside
from chatapp.errors import Refused
from chatapp.models import Conversation, Message, Rewind, Turn, hidden_messages, message_store
from chatapp.turns.lifecycle import locked_for_new_turn, open_turn


@transaction.atomic
def take_up(
    *, conversation: Conversation, how: str, nonce: uuid.UUID, seq: int = 0
) -> TurnContext | None:
    """Open a turn to "retry", "continue" or "regenerate" message ``seq``; None for a known nonce.

    What it begins with is taken off the rows that offered it.
    """
    with locked_for_new_turn(conversation, nonce) as locked:
        if locked is None:
            return None
        match how:
            case "retry":
                turn = _retry(locked, nonce)
            case "continue":
                turn = _continue(locked, nonce)
            case _:
                # The answer and what follows it are set aside as a version.
                question, origin = set_answer_aside(locked, seq), Turn.Origin.REGENERATED
                turn = open_turn(locked, nonce, question_seq=question, origin=origin)
        message_store.note_record(locked.pk)
    return read_run(conversation, turn=turn)


def _retry(locked: Conversation, nonce: uuid.UUID) -> Turn:
    """Open a turn that does again what the last one failed at.

    What it had written stays, except an answer that broke off: that is set aside.
    """
    failed = _last_turn(locked)
    if failed is None or failed.status not in Turn.UNDONE:
        raise Refused(_("There is nothing to try again. Reload the page."))
    last = _last_message(locked)
    if last and last.is_cut and last.turn_id == failed.pk:
        hidden_messages.rewind(locked.pk, first_hidden_seq=last.seq, cause=Rewind.Cause.RETRIED)
    question = failed.question_seq
    return open_turn(locked, nonce, question_seq=question, origin=Turn.Origin.RETRIED)


def _continue(locked: Conversation, nonce: uuid.UUID) -> Turn:
    """Open a turn that goes on from where the last one ended early.

    An answer that was cut is followed by a message that asks to go on.
    """
    last, before = _last_message(locked), _last_turn(locked)
    if last is None or not (last.is_continuable or (before and _is_unanswered(last))):
        raise Refused(_("There is nothing to continue. Reload the page."))
    origin = Turn.Origin.CONTINUED
    if before and not last.is_continuable:
        return open_turn(locked, nonce, question_seq=before.question_seq, origin=origin)
    turn = open_turn(locked, nonce, question_seq=locked.last_seq + 1, origin=origin)
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
    """Whether the model has said nothing yet: its tools have answered, or nobody has."""
    by_user = last.role == Message.Role.USER
    return by_user or last.is_cut or bool(message_store.to_engine(last).tool_uses)
