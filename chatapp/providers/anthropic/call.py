"""One call to the Messages API through the official SDK, which importing this module loads."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anthropic

from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.ports import Model, ModelRequest
from chatapp.network.addresses import AddressRefused
from chatapp.providers import wire
from chatapp.providers.anthropic.connection import Connection
from chatapp.providers.anthropic.errors import (
    BROKE_OFF,
    FAILURES,
    ThinkingRefused,
    explain,
    no_reply,
)
from chatapp.providers.anthropic.reply import Reply
from chatapp.providers.anthropic.request import (
    holds_thinking,
    without_thinking,
    write_count,
    write_request,
)

DECLINED = "The model declined to answer this."

_END = object()


async def count(request: ModelRequest, model: Model, to: Connection) -> int | None:
    """Return the measured tokens of a request; None where the address cannot count."""
    try:
        async with await to.open() as client:
            body = write_count(request, model)
            return (await client.messages.count_tokens(**body)).input_tokens
    except (AddressRefused, *FAILURES):
        return None


async def listen(
    request: ModelRequest, model: Model, to: Connection, *, eventless: float
) -> AsyncIterator[events.StreamEvent]:
    """Yield one reply; if a thinking block is refused, that of a request without any."""
    body = write_request(request, model)
    try:
        async for event in _listen(body, to, eventless):
            yield event
    except ThinkingRefused:
        if not holds_thinking(body):
            raise
    else:
        return
    async for event in _listen(without_thinking(body), to, eventless):
        yield event


async def _listen(
    body: Mapping[str, Any], to: Connection, eventless: float
) -> AsyncIterator[events.StreamEvent]:
    """Make one call and yield its events, the whole reply last."""
    reply = Reply()
    try:
        async with await to.open() as client:
            async for data in _receive(client, body, eventless):
                for event in reply.take(data):
                    yield event
    except AddressRefused as error:
        raise ProviderError(str(error)) from error
    except FAILURES as error:
        started, shown = reply.started, reply.shown
        raise explain(error, body["model"], to, started=started, shown=shown) from error
    _check(reply, to)
    yield reply.completed()


async def _receive(
    client: anthropic.AsyncAnthropic, body: Mapping[str, Any], eventless: float
) -> AsyncIterator[object]:
    """Yield the events' JSON as it came; TimeoutError when none comes for too long."""
    headers = {"content-type": "application/json", **body.get("extra_headers", {})}
    sent = {key: value for key, value in body.items() if key != "extra_headers"}
    async with asyncio.timeout(eventless):
        # Not messages.create, whose models of events fail at what is not as documented.
        stream = await client.post(
            "/v1/messages",
            content=wire.encode({**sent, "stream": True}),
            options={"headers": headers},
            cast_to=object,
            stream=True,
            stream_cls=anthropic.AsyncStream[object],
        )
    async with stream:
        events = wire.read_events(anthropic.AsyncStream.raw_events(stream.response))
        try:
            while True:
                async with asyncio.timeout(eventless):
                    event = await anext(events, _END)
                if event is _END:
                    return
                yield event
        except wire.ErrorEvent as error:
            said = f"{error.body}"
            raise anthropic.APIStatusError(
                said, response=stream.response, body=error.body
            ) from None


def _check(reply: Reply, to: Connection) -> None:
    """Raise ProviderError where the stream ended and the reply is no use as one."""
    if not reply.started:
        raise no_reply(to)
    if not reply.finished:
        raise ProviderError(BROKE_OFF, retryable=not reply.shown)
    if reply.stop_reason == "model_context_window_exceeded":
        raise ContextOverflow("The reply did not fit into what is left of the context window.")
    if reply.stop_reason == "refusal":
        why = str(reply.stop_details.get("explanation") or "")
        raise ProviderError(f"{DECLINED} {why}".strip(), details=str(dict(reply.stop_details)))
