"""Run inside the project's shell: a conversation with every kind of row; prints its id."""

import uuid
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

import condense
from chatapp.accounts import accounts
from chatapp.conversations import conversations, rewind
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    hidden_messages,
    message_store,
)

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

owner = accounts.prepare_owner()
conversation = conversations.start_conversation(owner=owner, title="Every kind of row")


def say(role: condense.Role, *blocks: condense.Block) -> Message:
    """Append a message, with what the agent's call cost."""
    message = condense.Message(role=role, content=blocks)
    row = message_store.append_message(conversation.pk, message, tokens=120)
    if role == "assistant":
        ModelCall.objects.create(
            conversation=conversation,
            message=row,
            purpose=ModelCall.Purpose.CHAT,
            profile_name="Offline",
            model="offline",
            tokens_input=1_200,
            tokens_output=340,
            cost=Decimal("0.004"),
            seconds=4.2,
        )
    return row


def record(**fields: object) -> Condensation:
    """Store the record of an attempt that took eight seconds."""
    now = timezone.now()
    row = {
        "conversation": conversation,
        "at_seq": Conversation.objects.get(pk=conversation.pk).last_seq,
        "status": "succeeded",
        "kind": "condensed",
        "strategy": "fresh_start",
        "trigger": "auto",
        "threshold": 90,
        "threshold_source": "global",
        "context_window": 200_000,
        "allowed": 171_808,
        "profile_name": "Offline",
        "model": "offline",
        "prompt": "Summarise the conversation.",
        "tokens_before": 172_340,
        "tokens_before_measured": True,
        "cost": Decimal("0.0123"),
        "started_at": now - timedelta(seconds=8.4),
        "finished_at": now,
    }
    return Condensation.objects.create(**row | fields)


def shrink(kind: str) -> Message:
    """Hide everything that is visible behind a summary or a marker."""
    hidden = tuple(message.id for message in message_store.read_effective(conversation.pk))
    name = uuid.uuid4().hex
    condensed = kind == "condensed"
    tags = condense.Tags(condense_id=name) if condensed else condense.Tags(truncation_id=name)
    text = condense.TextBlock("What was said.")
    return hidden_messages.apply_reduction(
        conversation.pk,
        condense.Reduction(
            kind="condensed" if condensed else "truncated",
            strategy="fresh_start",
            message=condense.Message(role="user", content=(text,), tags=tags, tokens=20),
            hidden=hidden,
            tokens_before=condense.TokenCount(900, measured=False),
            tokens_after=condense.TokenCount(100, measured=False),
        ),
    )


say("user", condense.TextBlock("Look at the parser and tell me what is slow."))
say(
    "assistant",
    condense.TextBlock("I'll read it first."),
    condense.ToolUseBlock("call-1", "read_file", {"path": "src/parser.py"}),
    condense.ToolUseBlock("call-2", "read_file", {"path": "src/missing.py"}),
)
say(
    "user",
    condense.ToolResultBlock("call-1", "import re\n" * 400),
    condense.ToolResultBlock("call-2", "There is no such file.", is_error=True),
)
say("assistant", condense.TextBlock(ANSWER))
record(
    message=shrink("truncated"), kind="truncated", tokens_after=90_000, messages_hidden=4, cost=0
)
say("user", condense.TextBlock("Remove the copy.\nThen measure again."))
say("assistant", condense.TextBlock(ANSWER))
record(
    message=shrink("condensed"),
    tokens_after=9_120,
    messages_hidden=3,
    summary="## Asked\n\nFind the slow path in `parser.py`.\n\n- tokens are **copied twice**",
    analysis="The user went through the files.",
    notes=["The hook check_tone failed: no model"],
    folded={
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
    },
)
say("user", condense.TextBlock("Try another way."))
say("assistant", condense.TextBlock("A memory view would do."))
rewind.rewind_conversation(
    conversation=conversation, to_seq=Conversation.objects.get(pk=conversation.pk).last_seq - 1
)
say("user", condense.TextBlock("Go on with a `memoryview`."))
say("assistant", condense.TextBlock(ANSWER))
record(
    status="failed",
    trigger="manual",
    tokens_before_measured=False,
    error="The provider is overloaded.",
    details="529 overloaded\nrequest-id: req_1",
)
print(conversation.pk)
