"""Run inside the project's shell: turns that failed, were cut and answered again; prints its id."""

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

owner = accounts.prepare_owner()
conversation = conversations.start_conversation(owner=owner, title="How turns end")


def say(turn: Turn, *blocks: condense.Block, stop_reason: str = "end_turn") -> int:
    """Append a message of the agent, or results, to a turn; return its number."""
    role: condense.Role = "user" if isinstance(blocks[0], condense.ToolResultBlock) else "assistant"
    message = condense.Message(role=role, content=blocks)
    return message_store.append_message(
        conversation.pk, message, tokens=120, turn=turn, stop_reason=stop_reason
    ).seq


def ask(text: str, *, replaces: int | None = None) -> Turn:
    """Send a message."""
    started = lifecycle.start_turn(
        conversation=conversation, text=text, tokens=9, nonce=uuid.uuid4(), replaces=replaces
    )
    assert started
    return started[0]


def end(turn: Turn | None, status: Turn.Status = Turn.Status.SUCCEEDED, **fields: object) -> None:
    """End a turn."""
    assert turn
    lifecycle.finish_turn(turn=turn, status=status, **fields)


def attempt(status: str, **fields: object) -> None:
    """Put an attempt on record that left no message."""
    now = timezone.now()
    put_on_record(
        conversation,
        at_seq=Conversation.objects.get(pk=conversation.pk).last_seq,
        status=status,
        tokens_before=1_340,
        tokens_before_measured=True,
        started_at=now - timedelta(seconds=3.1),
        finished_at=now,
        **fields,
    )


def again(how: str, seq: int = 0) -> Turn:
    """Take a turn up again."""
    turn = turn_retries.take_up(conversation=conversation, how=how, nonce=uuid.uuid4(), seq=seq)
    assert turn
    return turn


turn = ask("Look at the parser and tell me what is slow.")
first = say(turn, condense.TextBlock(WORDS * 2))
end(turn)
turn = again("regenerate", first)
say(turn, condense.TextBlock("I'll read it."), condense.ToolUseBlock("c1", "list_files", {}))
say(turn, condense.ToolResultBlock("c1", "parser.py\n"))
say(turn, condense.TextBlock(WORDS * 3))
end(turn)
turn = ask("And the rest?")
end(turn, Turn.Status.FAILED, error="The provider is overloaded at the moment.", details="529")
turn = again("retry")
cut = say(turn, condense.TextBlock(WORDS), stop_reason="max_tokens")
end(turn)
turn = again("continue")
say(turn, condense.TextBlock(WORDS * 2))
end(turn)
attempt("declined", error="Not enough messages to condense: 4.")
attempt("cancelled", cost=Decimal("0.0021"))
turn = ask("Change it.")
say(turn, condense.TextBlock("Changed."))
end(turn)
turn = ask("Change it back.", replaces=turn.question_seq)
say(turn, condense.TextBlock("It is as it was."))
end(turn)
turn = ask("Thanks.")
say(turn, condense.TextBlock("You are welcome."))
end(turn)
rewind.undo_rewind(
    rewind=rewind.rewind_conversation(conversation=conversation, to_seq=turn.question_seq)
)
turn = ask("Write it down.")
say(turn, condense.TextBlock(WORDS), stop_reason="stopped")
end(turn, Turn.Status.STOPPED)
turn = ask("Go on.")
end(turn, Turn.Status.STOPPED)
turn = ask("And now?")
end(
    turn,
    Turn.Status.FAILED,
    error="The provider did not accept the API key. Check it in Profiles.",
    details="model: claude\nHTTP status: 401\nerror type: authentication_error",
    profile_at_fault=True,
)
assert Rewind.objects.filter(conversation=conversation).count() == 3
print(conversation.pk)
