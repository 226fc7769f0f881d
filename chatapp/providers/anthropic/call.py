"""One call to the Messages API through the official SDK, which importing this module loads."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import anthropic

from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError
from chatapp.agent.provider import Model, ModelRequest, SentRequest
from chatapp.network.addresses import AddressRefused
from chatapp.providers import wire
from chatapp.providers.anthropic import compaction
from chatapp.providers.anthropic.connection import Connection
from chatapp.providers.anthropic.errors import (
    FAILURES,
    CompactionRefused,
    DiagnosticsRefused,
    LateSystemRefused,
    ThinkingRefused,
    explain,
)
from chatapp.providers.anthropic.reply import Reply
from chatapp.providers.anthropic.request import RequestWriter
from chatapp.providers.anthropic.thinking import beta_headers, can_do_without
from chatapp.providers.failures import BROKE_OFF, DECLINED, Asked, no_reply
from chatapp.providers.http import paced

_JSON = {"content-type": "application/json"}


async def count(request: ModelRequest, writer: RequestWriter, to: Connection) -> int | None:
    """Return the measured tokens of a request; None where the address cannot count."""
    try:
        async with to.client() as client:
            counted: object = await client.post(
                "/v1/messages/count_tokens",
                content=writer.write_count(request).body,
                options={"headers": _headers(request, writer.model)},
                cast_to=object,
            )
    except (AddressRefused, *FAILURES):
        return None
    match counted:
        case {"input_tokens": int(tokens)}:
            return tokens
    return None


async def listen(
    request: ModelRequest, writer: RequestWriter, to: Connection, *, eventless: float
) -> AsyncIterator[events.StreamEvent]:
    """Yield one reply; what the server refuses and a request can do without is left out."""
    thinking = True
    while True:
        try:
            sent = writer.write(request, thinking=thinking)
            async for event in _listen(request, sent, writer.model, to, eventless):
                yield event
        except ThinkingRefused:
            if not (thinking and can_do_without(request, writer.model)):
                raise
            thinking = False
        except (CompactionRefused, LateSystemRefused, DiagnosticsRefused) as refused:
            if not _adapts(refused, request, writer):
                raise
        else:
            return


def _adapts(refused: ProviderError, request: ModelRequest, writer: RequestWriter) -> bool:
    """Whether the next request leaves out what this one was refused for."""
    match refused:
        case CompactionRefused():
            bound = compaction.bound_to(request)
            if bound in writer.unsigned or not compaction.can_do_without(request):
                return False
            writer.unsigned.add(bound)
        case LateSystemRefused():
            had = writer.late_system
            writer.do_without_late_system()
            return had
        case _:
            had, writer.diagnoses = writer.diagnoses, False
            return had
    return True


async def _listen(
    request: ModelRequest, sent: SentRequest, model: Model, to: Connection, eventless: float
) -> AsyncIterator[events.StreamEvent]:
    """Make one call and yield its events, the whole reply last."""
    await request.observer.sending(sent)
    reply, asked = Reply(request.observer.learned), Asked(model.name, to.host)
    try:
        async with to.client() as client:
            headers = _headers(request, model)
            async for said in _receive(client, sent.body, headers, reply, eventless):
                for event in reply.take_all(said):
                    yield event
    except AddressRefused as error:
        raise ProviderError(str(error)) from error
    except FAILURES as error:
        if isinstance(error, anthropic.APIStatusError):
            reply.note_request(error.request_id)
        raise explain(error, asked, started=reply.started, shown=reply.shown) from error
    _check(reply, asked)
    yield reply.completed()


def _headers(request: ModelRequest, model: Model) -> dict[str, str]:
    return {**_JSON, **beta_headers(model, *compaction.betas(request))}


async def _receive(
    client: anthropic.AsyncAnthropic,
    body: bytes,
    headers: Mapping[str, str],
    reply: Reply,
    eventless: float,
) -> AsyncIterator[list[object]]:
    """Yield the JSON of the events of each read; TimeoutError when none comes for too long."""
    async with asyncio.timeout(eventless):
        # Not messages.create, whose models of events fail at what is not as documented.
        stream = await client.post(
            "/v1/messages",
            content=body,
            options={"headers": headers},
            cast_to=object,
            stream=True,
            stream_cls=anthropic.AsyncStream[object],
        )
    reply.note_request(stream.response.headers.get("request-id"))
    async with stream:
        reads = wire.read_events(stream.response.aiter_bytes())
        try:
            async for said in paced(reads, eventless, lambda: reply.finished):
                yield said
        except wire.ErrorEvent as error:
            raise anthropic.APIStatusError(
                f"{error.body}", response=stream.response, body=error.body
            ) from None


def _check(reply: Reply, asked: Asked) -> None:
    """Raise ProviderError where the stream ended and the reply is no use as one."""
    if not reply.started:
        raise no_reply(asked)
    if not reply.finished:
        raise ProviderError(BROKE_OFF, retryable=not reply.shown)
    if reply.stop_reason == "model_context_window_exceeded":
        raise ContextOverflow("The reply did not fit into what is left of the context window.")
    if reply.stop_reason == "refusal":
        why = str(reply.stop_details.get("explanation") or "")
        raise ProviderError(f"{DECLINED} {why}".strip(), details=str(dict(reply.stop_details)))
