"""Turns as they would have run, for tests: asked, answered, and ended."""

import uuid
from typing import Any

from django.db import transaction

import condense
from chatapp.conversations.composer.attachments import Expansion
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import Conversation, Turn, message_store
from chatapp.page.live.incoming_frames import SendMessage, TakeUp
from chatapp.turns import lifecycle, message_queue, turns_with_message, turns_without_message
from tests.chatapp.observers import ELSEWHERE

DONE, FAILED, STOPPED = Turn.Status.SUCCEEDED, Turn.Status.FAILED, Turn.Status.STOPPED
INTERRUPTED = Turn.Status.INTERRUPTED


def send(
    conversation: Conversation,
    text: str = "Why?",
    nonce: uuid.UUID | None = None,
    *,
    tokens: int = 1,
    **said: Any,
) -> TurnContext | None:
    """Send a message, and return what begins, if it does."""
    command = SendMessage(text, nonce or uuid.uuid4(), **said)
    with transaction.atomic():
        return turns_with_message.start_message(conversation, command, Expansion(text, (), tokens))


def ask(conversation: Conversation, text: str = "Why?", **said: Any) -> Turn:
    """Send a message; its turn runs from now on."""
    started = send(conversation, text, **said)
    assert started
    return started.turn


def end(
    turn: Turn, text: str = "", *, stop_reason: str = "end_turn", status: Turn.Status = DONE
) -> Turn:
    """Answer, where there is a text, and end the turn."""
    if text:
        message = condense.Message(role="assistant", content=(condense.TextBlock(text),))
        message_store.append_message(
            turn.conversation_id, message, tokens=1, turn=turn, stop_reason=stop_reason
        )
    lifecycle.finish_turn(turn=turn, status=status, error="No luck." if status == FAILED else "")
    return turn


def regenerate(conversation: Conversation, seq: int) -> Turn:
    """Ask for another answer."""
    return take_up(conversation, "regenerate", seq=seq)


def retry(conversation: Conversation) -> Turn:
    """Try the last turn again."""
    return take_up(conversation, "retry")


def go_on(conversation: Conversation) -> Turn:
    """Continue an answer that was cut."""
    return take_up(conversation, "continue")


def take_up(conversation: Conversation, how: str, *, seq: int = 0) -> Turn:
    """Begin a turn without a new message."""
    with transaction.atomic():
        run = turns_without_message.take_up(conversation, TakeUp(how, uuid.uuid4(), seq))
    assert run
    return run.turn


def seen(conversation: Conversation) -> list[str]:
    """Return the texts that the model sees."""
    return [message.text for message in message_store.read_effective(conversation.pk)]


def elsewhere(turn: Turn, **columns: object) -> Turn:
    """Let a turn belong to a process of another machine, which does not live unless it is made."""
    Turn.objects.filter(pk=turn.pk).update(**{"owner": ELSEWHERE, **columns})
    return turn


def begin_condensing(conversation: Conversation) -> Turn | None:
    """Condense by hand, from now on."""
    with transaction.atomic():
        return turns_without_message.open_condensing(conversation=conversation, nonce=uuid.uuid4())


def queue(conversation: Conversation, nonce: uuid.UUID | None = None) -> bool:
    """Let a message wait for what runs."""
    return message_queue.queue_message(conversation, SendMessage("x", nonce or uuid.uuid4()))


def send_queued(conversation: Conversation, nonce: uuid.UUID) -> TurnContext | None:
    """Send a message that waits."""
    return message_queue.start_queued(conversation, nonce, Expansion(""))


def stop_unclaimed(turn: Turn) -> bool:
    """Stop a turn that no process has; return whether it is stopped."""
    return lifecycle.stop_unclaimed(turn.conversation_id, turn.pk)
