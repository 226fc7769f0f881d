"""A conversation with every kind of row."""

import uuid
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

import condense
from chatapp.conversations import conversations, rewind
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    accounts,
    hidden_messages,
    message_store,
)
from tests.chatapp.conftest import reduction_of, summarise
from tests.records import put_on_record

ANSWER = """The lexer copies each token **twice**:

```python
def tokenize(text: str) -> Iterator[Token]:
    yield Token(text)
```

| step | before | after |
|---|---|---|
| lex | 31 ms | 9 ms |

> The copy in `Token.__init__` can go.
"""
SPENT = {
    "purpose": ModelCall.Purpose.CHAT,
    "profile_name": "Offline",
    "model": "offline",
    "tokens_input": 1_200,
    "tokens_output": 340,
    "cost": Decimal("0.004"),
    "seconds": 4.2,
}
FOLDED = {
    "characters": 5_120,
    "files": [
        {"path": "src/parser.py", "characters": 3_410},
        {"path": "src/tokens/" + "deeply/" * 12 + "token.py", "characters": 1_709},
    ],
    "left_out": [
        {"path": "/home/someone/notes.md", "reason": "It is outside the workspace."},
        {
            "path": "data/" + "x" * 90 + ".csv",
            "reason": "There is no grammar for this kind of file.",
        },
    ],
}


def make_rows() -> str:
    """Make it and return its address."""
    talk = conversations.start_conversation(
        owner=accounts.prepare_owner(), title="Every kind of row"
    )
    _ask(talk, "Look at the parser and tell me what is slow.")
    _answer(
        talk,
        condense.TextBlock("I'll read it first."),
        condense.ToolUseBlock("call-1", "read_file", {"path": "src/parser.py"}),
        condense.ToolUseBlock("call-2", "read_file", {"path": "src/missing.py"}),
    )
    _say(
        talk,
        "user",
        condense.ToolResultBlock("call-1", "import re\n" * 400),
        condense.ToolResultBlock("call-2", "There is no such file.", is_error=True),
    )
    _answer(talk, condense.TextBlock(ANSWER))
    truncated = {"kind": "truncated", "tokens_after": 90_000, "messages_hidden": 4, "cost": 0}
    _record(talk, message=_truncate(talk), **truncated)
    _ask(talk, "Remove the copy.\nThen measure again.")
    _answer(talk, condense.TextBlock(ANSWER))
    _record(
        talk,
        message=summarise(talk, tokens=20),
        tokens_after=9_120,
        messages_hidden=3,
        summary="## Asked\n\nFind the slow path in `parser.py`.\n\n- tokens are **copied twice**",
        analysis="The user went through the files.",
        notes=["The hook check_tone failed: no model"],
        folded=FOLDED,
    )
    _ask(talk, "Try another way.")
    last = _answer(talk, condense.TextBlock("A memory view would do."))
    rewind.rewind_conversation(conversation=talk, first_hidden_seq=last.seq - 1)
    _ask(talk, "Go on with a `memoryview`.")
    _answer(talk, condense.TextBlock(ANSWER))
    _record(
        talk,
        status="failed",
        trigger="manual",
        tokens_before_measured=False,
        error="The provider is overloaded.",
        details="529 overloaded\nrequest-id: req_1",
    )
    return f"/c/{talk.pk}/"


def _say(talk: Conversation, role: condense.Role, *blocks: condense.Block) -> Message:
    message = condense.Message(role=role, content=blocks)
    return message_store.append_message(talk.pk, message, tokens=120)


def _ask(talk: Conversation, text: str) -> None:
    _say(talk, "user", condense.TextBlock(text))


def _answer(talk: Conversation, *blocks: condense.Block) -> Message:
    """Append a message of the agent, with what its call cost."""
    row = _say(talk, "assistant", *blocks)
    ModelCall.objects.create(conversation=talk, message=row, **SPENT)
    return row


def _record(talk: Conversation, **fields: object) -> Condensation:
    """Store the record of an attempt that took eight seconds."""
    now = timezone.now()
    usual = {
        "at_seq": Conversation.objects.get(pk=talk.pk).last_seq,
        "trigger": "auto",
        "prompt": "Summarise the conversation.",
        "tokens_before": 172_340,
        "tokens_before_measured": True,
        "cost": Decimal("0.0123"),
        "started_at": now - timedelta(seconds=8.4),
        "finished_at": now,
    }
    return put_on_record(talk, **usual | fields)


def _truncate(talk: Conversation) -> Message:
    """Hide everything that is visible behind a marker."""
    hidden = tuple(message.id for message in message_store.read_effective(talk.pk))
    tags = condense.Tags(truncation_id=uuid.uuid4().hex)
    text = condense.TextBlock("What was said.")
    marker = condense.Message("user", (text,), tags=tags, tokens=20)
    return hidden_messages.apply_reduction(talk.pk, reduction_of(marker, hidden))
