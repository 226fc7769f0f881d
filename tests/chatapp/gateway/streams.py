"""Streams of the Messages API, as bytes."""

import json
from typing import Any

from tests.chatapp.gateway.programs import body_of

ASKED = body_of(
    model="claude-opus-5", stream=True, messages=[{"role": "user", "content": "Say all."}]
)


def event(kind: str, **more: Any) -> bytes:
    """Return an event as the API writes it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def delta(text: str) -> bytes:
    """Return a piece of text."""
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


FIRST_HALF = (
    event("message_start", message={"id": "msg_1", "usage": {"input_tokens": 5}})
    + event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    + delta("Half a")
)
SECOND_HALF = (
    delta(" word.")
    + event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 4})
    + event("message_stop")
)
