"""A turn as server-sent events: what happens in it, while it happens."""

import asyncio
import contextvars
import uuid
from collections.abc import AsyncIterator
from typing import Any

import orjson
from django.http import StreamingHttpResponse

import condense
from chatapp import services
from chatapp.agent import events
from chatapp.live import protocol, turns
from chatapp.models import Conversation, Turn
from chatapp.models.reading import reading

# Seconds without news after which a line without meaning keeps proxies from hanging up.
SILENCE = 15


def stream_turn(conversation: Conversation, command: protocol.SendMessage) -> StreamingHttpResponse:
    """Return what becomes of a message as a stream; it is sent when that is read."""
    services.check_message(command.text, alone=not command.attachments)
    answer = StreamingHttpResponse(_stream(conversation, command), content_type="text/event-stream")
    # A proxy that collected it would have an event wait for those after it.
    answer["X-Accel-Buffering"] = "no"
    return answer


async def _stream(
    conversation: Conversation, command: protocol.SendMessage
) -> AsyncIterator[bytes]:
    """Send the message; yield events as they come, then how the turn ended, or why none began."""
    try:
        # A request's own context ends with it, and takes the threads for its queries along.
        work = turns.send_and_hear(conversation, command)
        with services.saving():
            heard = await asyncio.create_task(work, context=contextvars.Context())
    except services.Refused as refusal:
        yield encode("refused", {"detail": str(refusal)})
        return
    waiting = asyncio.ensure_future(anext(heard, None))
    try:
        while True:
            done, _pending = await asyncio.wait({waiting}, timeout=SILENCE)
            if not done:
                yield b": still running\n\n"
                continue
            if (event := waiting.result()) is None:
                break
            if told := tell(event):
                yield encode(*told)
            waiting = asyncio.ensure_future(anext(heard, None))
        yield encode("end", await reading(_ending)(conversation.pk, command.nonce))
    finally:
        waiting.cancel()


def _ending(conversation: uuid.UUID, nonce: uuid.UUID) -> dict[str, Any]:
    turn = Turn.objects.get(conversation=conversation, nonce=nonce)
    return {"status": turn.status, "error": turn.error, "last_seq": turn.last_seq}


def encode(name: str, told: dict[str, Any]) -> bytes:
    """Return an event as it is sent."""
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(told) + b"\n\n"


def tell(event: events.TurnEvent) -> tuple[str, dict[str, Any]] | None:  # noqa: PLR0911 - a line for each
    """Return an event's name and what it says, None for one that only pages show."""
    match event:
        case events.TextStreamed(text):
            return "text", {"text": text}
        case events.StreamDiscarded():
            return "discarded", {}
        case events.MessageAppended(message):
            content = condense.content_to_api(message.content)
            return "message", {"seq": message.seq, "role": message.role, "content": content}
        case events.ToolStarted(id=pk, name=name, input=given):
            return "tool.started", {"id": pk, "name": name, "input": given}
        case events.ToolFinished(id=pk, text=text, is_error=failed):
            return "tool.finished", {"id": pk, "text": text, "is_error": failed}
        case events.PersonAsked(id=pk):
            return "question", {"id": pk}
        case events.ReviewAsked(id=number):
            return "review", {"id": number}
        case events.CondensingStarted(trigger):
            return "condensing.started", {"trigger": str(trigger)}
        case events.CondensingEnded(kind, status):
            return "condensing.ended", {"kind": kind, "status": status}
    return None
