"""What a row shows in part, or not at all, as a whole: a message's text, a call's arguments."""

import condense
from chatapp.models import Conversation, store
from chatapp.transcript.parts import input_text, result_text

# Messages after a call in which its result is looked for; it is the next one, mostly.
NEAR = 20


def message_text(conversation: Conversation, seq: int) -> str | None:
    """Return what a message says, as it was written; None where there is no such message."""
    found = conversation.messages.filter(seq=seq).first()
    return store.to_engine(found).text if found else None


def call_text(conversation: Conversation, seq: int, call: str, part: str) -> str | None:
    """Return a tool call's "input" or "result"; None where it has none, or not yet."""
    rows = conversation.messages.filter(seq__gte=seq).order_by("seq")[:NEAR]
    for message in map(store.to_engine, rows):
        for block in message.blocks:
            match block:
                case condense.ToolUseBlock(id=id_) if (id_, part) == (call, "input"):
                    return input_text(block)
                case condense.ToolResultBlock(tool_use_id=id_) if (id_, part) == (call, "result"):
                    return result_text(block)
    return None
