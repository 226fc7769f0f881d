"""One call to chat completions through the official SDK, which importing this module loads."""

from collections.abc import AsyncIterator

import openai

from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.provider import ModelRequest, SentRequest
from chatapp.network.addresses import AddressRefused
from chatapp.providers import wire
from chatapp.providers.failures import BROKE_OFF, DECLINED, Asked, no_reply
from chatapp.providers.http import paced
from chatapp.providers.openai.connection import Connection
from chatapp.providers.openai.errors import FAILURES, explain, is_about_the_request, refusal_of
from chatapp.providers.openai.reply import Reply
from chatapp.providers.openai.request import RequestWriter


class _Adapted(Exception):
    """A request was refused for something that the next one leaves out."""


async def listen(
    request: ModelRequest, writer: RequestWriter, to: Connection
) -> AsyncIterator[events.StreamEvent]:
    """Yield one reply; what the server refuses and a request can do without is left out."""
    while True:
        try:
            async for event in _listen(request, writer, to):
                yield event
        except _Adapted:
            continue
        return


async def _listen(
    request: ModelRequest, writer: RequestWriter, to: Connection
) -> AsyncIterator[events.StreamEvent]:
    """Make one call and yield its events, the whole reply last."""
    sent = writer.write(request)
    await request.observer.sending(sent)
    reply, asked = Reply(request.observer.learned), Asked(writer.model.name, to.host)
    try:
        async with to.client() as client:
            async for said in _receive(client, sent, reply, to):
                for event in reply.take_all(said):
                    yield event
    except AddressRefused as error:
        raise ProviderError(str(error)) from error
    except FAILURES as error:
        if isinstance(error, openai.APIStatusError):
            reply.note_request(error.request_id)
        explained = explain(error, asked, started=reply.started, shown=reply.shown)
        if not reply.shown and _adapts(error, explained, writer):
            raise _Adapted from error
        raise explained from error
    for event in reply.end():
        yield event
    yield _checked(reply, asked)


async def _receive(
    client: openai.AsyncOpenAI, sent: SentRequest, reply: Reply, to: Connection
) -> AsyncIterator[list[object]]:
    """Yield the JSON of the chunks of each read; TimeoutError when none comes for too long."""
    # Not chat.completions.create, whose models of chunks fail at what is not as documented.
    stream = await client.post(
        "/chat/completions",
        content=sent.body,
        options={"headers": to.headers},
        cast_to=object,
        stream=True,
        stream_cls=openai.AsyncStream[object],
    )
    response = stream.response
    reply.note_request(response.headers.get("x-request-id"))
    async with stream:
        try:
            if response.headers.get("content-type", "").startswith("application/json"):
                # A server that does not stream has the whole reply in one.
                yield [wire.decode_chunk(await response.aread())]
                return
            reads = wire.read_chunks(response.aiter_bytes())
            async for said in paced(reads, to.silence, lambda: reply.finished):
                yield said
        except wire.ErrorEvent as error:
            raise openai.APIStatusError(
                f"{error.body}", response=response, body=error.body
            ) from None


def _adapts(error: Exception, explained: ProviderError, writer: RequestWriter) -> bool:
    """Whether the next request leaves out what this one was refused for."""
    if not isinstance(error, openai.APIStatusError) or isinstance(explained, ContextOverflow):
        return False
    refusal = refusal_of(error)
    return is_about_the_request(refusal) and writer.adapt(refusal.said)


def _checked(reply: Reply, asked: Asked) -> events.ReplyCompleted:
    """Return the whole reply; raise ProviderError where the stream's end leaves none."""
    if not reply.started:
        raise no_reply(asked)
    if not reply.finished:
        raise ProviderError(BROKE_OFF, retryable=not reply.shown)
    if reply.stop_reason == "refusal":
        raise ProviderError(DECLINED)
    return reply.completed()
