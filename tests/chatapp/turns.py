"""Turns as they would have run, for tests: asked, answered, and ended."""

import uuid

import condense
from chatapp import services
from chatapp.models import Conversation, Turn, store

DONE, FAILED, STOPPED = Turn.Status.SUCCEEDED, Turn.Status.FAILED, Turn.Status.STOPPED
INTERRUPTED = Turn.Status.INTERRUPTED


def ask(conversation: Conversation, text: str = "Why?", *, replaces: int | None = None) -> Turn:
    """Send a message; its turn runs from now on."""
    started = services.start_turn(
        conversation=conversation, text=text, tokens=1, nonce=uuid.uuid4(), replaces=replaces
    )
    assert started
    return started[0]


def end(
    turn: Turn, text: str = "", *, stop_reason: str = "end_turn", status: Turn.Status = DONE
) -> Turn:
    """Answer, where there is a text, and end the turn."""
    if text:
        message = condense.Message(role="assistant", content=(condense.TextBlock(text),))
        store.append_message(
            turn.conversation_id, message, tokens=1, turn=turn, stop_reason=stop_reason
        )
    services.finish_turn(turn=turn, status=status, error="No luck." if status == FAILED else "")
    return turn


def regenerate(conversation: Conversation, seq: int) -> Turn:
    """Ask for another answer."""
    turn = services.regenerate_answer(conversation=conversation, seq=seq, nonce=uuid.uuid4())
    assert turn
    return turn


def retry(conversation: Conversation) -> Turn:
    """Try the last turn again."""
    turn = services.retry_turn(conversation=conversation, nonce=uuid.uuid4())
    assert turn
    return turn


def go_on(conversation: Conversation) -> Turn:
    """Continue an answer that was cut."""
    turn = services.continue_turn(conversation=conversation, nonce=uuid.uuid4())
    assert turn
    return turn


def seen(conversation: Conversation) -> list[str]:
    """Return the texts that the model sees."""
    return [message.text for message in store.read_effective(conversation.pk)]
