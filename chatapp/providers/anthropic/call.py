"""One call to the Messages API through the official SDK, which importing this module loads."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anthropic

from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.providers.anthropic.errors import (
    BROKE_OFF,
    FAILURES,
    ThinkingRefused,
    explain,
    no_reply,
)
from chatapp.providers.anthropic.reply import Reply
from chatapp.providers.anthropic.request import Connection, holds_thinking, without_thinking

CONNECT_SECONDS = 15.0
DECLINED = "The model declined to answer this."


async def count(body: Mapping[str, Any], to: Connection) -> int | None:
    """Return the measured tokens of a request; None where the address cannot count."""
    try:
        async with _client(to) as client:
            return (await client.messages.count_tokens(**body)).input_tokens
    except FAILURES:
        return None


async def listen(
    body: Mapping[str, Any], to: Connection, *, eventless: float
) -> AsyncIterator[events.StreamEvent]:
    """Yield one reply; if a thinking block is refused, that of a request without any."""
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
        async with _client(to) as client:
            async for data in _receive(client, body, eventless):
                for event in reply.take(data):
                    yield event
    except FAILURES as error:
        started, shown = reply.started, reply.shown
        raise explain(error, body["model"], to, started=started, shown=shown) from error
    _check(reply, to)
    yield reply.completed()


async def _receive(
    client: anthropic.AsyncAnthropic, body: Mapping[str, Any], eventless: float
) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the raw events as JSON objects; TimeoutError when none comes for too long."""
    async with asyncio.timeout(eventless):
        stream = await client.messages.create(**body, stream=True)
    async with stream:
        while True:
            async with asyncio.timeout(eventless):
                event = await anext(stream, None)
            if event is None:
                return
            yield event.to_dict(mode="json", exclude_unset=True)


def _client(to: Connection) -> anthropic.AsyncAnthropic:
    """Return a client; other servers may still expect the key where API 2023-06-01 had it."""
    timeout = anthropic.Timeout(to.silence, connect=min(CONNECT_SECONDS, to.silence))
    return anthropic.AsyncAnthropic(
        api_key=to.key,
        base_url=to.base_url,
        max_retries=0,
        timeout=timeout,
        default_headers=None if to.is_default else {"x-api-key": to.key},
    )


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
