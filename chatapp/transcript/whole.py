"""What a row shows in part, or not at all, as a whole: a message's text, a call's arguments."""

import condense
from chatapp.models import Conversation, store
from chatapp.transcript.parts import input_text, result_text

# Messages after a call in which its result is looked for; it is the next one, mostly.
NEAR = 20


def message_text(conversation: Conversation, seq: int) -> str | None:
    """Return what a message says, as it was written; None where there is no such message."""
    found = conversation.messages.filter(seq=seq).first()
    return store.to_engine(found).words if found else None


def message_block(conversation: Conversation, seq: int, index: int) -> condense.Block | None:
    """Return one block of a message; None where there is none."""
    found = conversation.messages.filter(seq=seq).first()
    blocks = store.to_engine(found).blocks if found else ()
    return blocks[index] if index < len(blocks) else None


def call_text(conversation: Conversation, seq: int, call: str, part: str) -> str | None:
    """Return a tool call's "input" or "result"; None where it has none, or not yet."""
    rows = conversation.messages.filter(seq__gte=seq).order_by("seq")[:NEAR]
    said = [store.to_engine(row) for row in rows]
    if part == "input":
        uses = said[0].tool_uses if said else ()
        return next((input_text(use) for use in uses if use.id == call), None)
    if part != "result":
        return None
    own = (pair for pair in condense.pair_calls(said).answered if pair.called_at == 0)
    return next((result_text(pair.result) for pair in own if pair.call.id == call), None)
