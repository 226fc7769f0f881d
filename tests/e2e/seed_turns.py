"""A conversation whose turns failed, were cut, and were answered again."""

import uuid
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

import condense
from chatapp.accounts import accounts
from chatapp.conversations import conversations, rewind
from chatapp.models import Conversation, Rewind, Turn, message_store
from chatapp.turns import lifecycle, turn_retries
from tests.records import put_on_record

WORDS = "The lexer copies each token **twice**, once in `tokenize` and once in `Token.__init__`. "


def make_turns() -> str:
    """Make it and return its address."""
    talk = conversations.start_conversation(owner=accounts.prepare_owner(), title="How turns end")
    turn = _ask(talk, "Look at the parser and tell me what is slow.")
    first = _say(talk, turn, condense.TextBlock(WORDS * 2))
    _end(turn)
    turn = _again(talk, "regenerate", first)
    _say(
        talk,
        turn,
        condense.TextBlock("I'll read it."),
        condense.ToolUseBlock("c1", "list_files", {}),
    )
    _say(talk, turn, condense.ToolResultBlock("c1", "parser.py\n"))
    _say(talk, turn, condense.TextBlock(WORDS * 3))
    _end(turn)
    turn = _ask(talk, "And the rest?")
    _end(turn, Turn.Status.FAILED, error="The provider is overloaded at the moment.", details="529")
    turn = _again(talk, "retry")
    _say(talk, turn, condense.TextBlock(WORDS), stop_reason="max_tokens")
    _end(turn)
    turn = _again(talk, "continue")
    _say(talk, turn, condense.TextBlock(WORDS * 2))
    _end(turn)
    _attempt(talk, "declined", error="Not enough messages to condense: 4.")
    _attempt(talk, "cancelled", cost=Decimal("0.0021"))
    turn = _ask(talk, "Change it.")
    _say(talk, turn, condense.TextBlock("Changed."))
    _end(turn)
    turn = _ask(talk, "Change it back.", replaces=turn.question_seq)
    _say(talk, turn, condense.TextBlock("It is as it was."))
    _end(turn)
    turn = _ask(talk, "Thanks.")
    _say(talk, turn, condense.TextBlock("You are welcome."))
    _end(turn)
    rewind.undo_rewind(
        rewind=rewind.rewind_conversation(conversation=talk, to_seq=turn.question_seq)
    )
    turn = _ask(talk, "Write it down.")
    _say(talk, turn, condense.TextBlock(WORDS), stop_reason="stopped")
    _end(turn, Turn.Status.STOPPED)
    turn = _ask(talk, "Go on.")
    _end(turn, Turn.Status.STOPPED)
    turn = _ask(talk, "And now?")
    _end(
        turn,
        Turn.Status.FAILED,
        error="The provider did not accept the API key. Check it in Profiles.",
        details="model: claude\nHTTP status: 401\nerror type: authentication_error",
        profile_at_fault=True,
    )
    assert Rewind.objects.filter(conversation=talk).count() == 3
    return f"/c/{talk.pk}/"


def _say(
    talk: Conversation, turn: Turn, *blocks: condense.Block, stop_reason: str = "end_turn"
) -> int:
    """Append a message of the agent, or results, to a turn; return its number."""
    is_result = isinstance(blocks[0], condense.ToolResultBlock)
    role: condense.Role = "user" if is_result else "assistant"
    message = condense.Message(role=role, content=blocks)
    return message_store.append_message(
        talk.pk, message, tokens=120, turn=turn, stop_reason=stop_reason
    ).seq


def _ask(talk: Conversation, text: str, *, replaces: int | None = None) -> Turn:
    """Send a message."""
    started = lifecycle.start_turn(
        conversation=talk, text=text, tokens=9, nonce=uuid.uuid4(), replaces=replaces
    )
    assert started
    return started[0]


def _end(turn: Turn | None, status: Turn.Status = Turn.Status.SUCCEEDED, **fields: object) -> None:
    """End a turn."""
    assert turn
    lifecycle.finish_turn(turn=turn, status=status, **fields)


def _attempt(talk: Conversation, status: str, **fields: object) -> None:
    """Put an attempt on record that left no message."""
    now = timezone.now()
    put_on_record(
        talk,
        at_seq=Conversation.objects.get(pk=talk.pk).last_seq,
        status=status,
        tokens_before=1_340,
        tokens_before_measured=True,
        started_at=now - timedelta(seconds=3.1),
        finished_at=now,
        **fields,
    )


def _again(talk: Conversation, how: str, seq: int = 0) -> Turn:
    """Take a turn up again."""
    run = turn_retries.take_up(conversation=talk, how=how, nonce=uuid.uuid4(), seq=seq)
    assert run
    return run.turn
