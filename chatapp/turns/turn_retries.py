"""A turn without a new message: tried again, continued, or answered anew."""

import uuid

from django.utils.translation import gettext as _

import condense
from chatapp.agent.prompts import CONTINUE
from chatapp.context import sizes
from chatapp.conversations.rewind import set_answer_aside
from chatapp.errors import Refused
from chatapp.models import Conversation, Message, Rewind, Turn, hidden_messages, message_store
from chatapp.turns.lifecycle import is_known, one_turn, open_turn


def take_up(*, conversation: Conversation, how: str, nonce: uuid.UUID, seq: int) -> Turn | None:
    """Open a turn to "retry", "continue" or "regenerate"; None for a known nonce."""
    match how:
        case "retry":
            return retry_turn(conversation=conversation, nonce=nonce)
        case "continue":
            return continue_turn(conversation=conversation, nonce=nonce)
    return regenerate_answer(conversation=conversation, seq=seq, nonce=nonce)


def regenerate_answer(*, conversation: Conversation, seq: int, nonce: uuid.UUID) -> Turn | None:
    """Open a turn that answers again what message ``seq`` answers; None for a known nonce.

    The answer and what follows it are set aside as a version.
    """
    with one_turn(conversation) as locked:
        if is_known(locked, nonce):
            return None
        question_seq = set_answer_aside(locked, seq)
        return _open(locked, nonce, question_seq, Turn.Origin.REGENERATED)


def retry_turn(*, conversation: Conversation, nonce: uuid.UUID) -> Turn | None:
    """Open a turn that does again what the last one failed at; None for a known nonce.

    What it had written stays, except an answer that broke off: that is set aside.
    """
    with one_turn(conversation) as locked:
        if is_known(locked, nonce):
            return None
        failed = _last_turn(locked)
        if failed is None or failed.status not in Turn.UNDONE:
            raise Refused(_("There is nothing to try again any more. Reload the page."))
        last = _last_message(locked)
        if last and last.is_cut and last.turn_id == failed.pk:
            hidden_messages.rewind(locked.pk, to_seq=last.seq, cause=Rewind.Cause.RETRIED)
        return _open(locked, nonce, failed.question_seq, Turn.Origin.RETRIED)


def continue_turn(*, conversation: Conversation, nonce: uuid.UUID) -> Turn | None:
    """Open a turn that goes on from where the last one ended early; None for a known nonce.

    An answer that was cut is followed by a message that asks to go on.
    """
    with one_turn(conversation) as locked:
        if is_known(locked, nonce):
            return None
        last, before = _last_message(locked), _last_turn(locked)
        if last is None or not (last.is_continuable or (before and _is_unanswered(last))):
            raise Refused(_("There is nothing to continue any more. Reload the page."))
        if before and not last.is_continuable:
            return _open(locked, nonce, before.question_seq, Turn.Origin.CONTINUED)
        turn = _open(locked, nonce, locked.last_seq + 1, Turn.Origin.CONTINUED)
        message = condense.Message(role="user", content=(condense.TextBlock(CONTINUE),))
        tokens = condense.count_message(message, sizes.COUNTER)
        message_store.append_message(locked.pk, message, tokens=tokens, turn=turn)
        return turn


def _open(locked: Conversation, nonce: uuid.UUID, question_seq: int, origin: Turn.Origin) -> Turn:
    """Open a turn, which takes what it begins with off the rows that offered it."""
    message_store.note_record(locked.pk)
    return open_turn(locked, nonce, question_seq=question_seq, origin=origin)


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
