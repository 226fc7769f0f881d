"""The gateway's application: it admits requests, and passes answers on byte for byte."""

import asyncio
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse

from chatapp.accounts.credentials import find_gateway_token
from chatapp.accounts.rate_limits import GuessLimit, count_request
from chatapp.agent.errors import AgentError
from chatapp.gateway import chat_completions, messages, responses
from chatapp.gateway.bodies import check_size, decoded, read_body
from chatapp.gateway.dialects import Dialect, RefusedRequest
from chatapp.gateway.recording import ANSWER_BROKE_OFF, GONE, UNREACHED, Recording
from chatapp.gateway.requests import GatewayRequest
from chatapp.gateway.sessions import find_end, find_known
from chatapp.gateway.upstream import FAILURES, HOP_BY_HOP, Upstream, find_upstream, keys_in, sent
from chatapp.models import ApiToken, errors, spending
from chatapp.models.database import reading
from chatapp.models.errors import explain_write_error
from chatapp.project.languages import in_words, reader_of
from chatapp.project.middleware import client_address
from chatapp.project.network import AddressRefused, host_of, proxy_of, why_unreached
from chatapp.project.sentences import translate as _
from chatapp.providers.call_errors import REDIRECTED
from condense import say

log = logging.getLogger(__name__)

ROOT = "/gateway"
DIALECTS = (
    *(messages.DIALECT, chat_completions.DIALECT),
    *(responses.DIALECT, responses.COMPACTIONS),
)
_TOKEN_IN_PATH = re.compile(r"/t/([^/]+)(/.*|)")
_READING = {"GET", "HEAD"}
_MODELS = re.compile(r"/v1/models(?:/(.+))?")
_CONTROL = re.compile(r"[^\t\x20-\x7e\x80-\xff]")
_PROGRAM = re.compile(r"[\x21-\x7e]+")
REDIRECTS = range(300, 400)


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class IncomingRequest:
    """An incoming request."""

    scope: Mapping[str, Any]
    path: str
    token: str
    is_apart: bool  # token in the address or a header of its own: a credential is passed on
    headers: Mapping[str, str]
    dialect: Dialect


async def gateway(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
    """Answer a request of a program, in the dialect that it speaks."""
    call = _read_call(scope)
    try:
        if call.path in {"", "/", "/healthz"} and scope["method"] in _READING:
            await _answer(send, 200, b"")
            return
        body = await _body(receive)
        await _serve(call, body, receive, send)
    except ClientGone:
        pass
    except Exception as error:  # noqa: BLE001 - it is logged
        refusal = _refusal_for(error)
        told = {name: str(value) for name, value in refusal.headers.items() if value}
        said = call.dialect.refusal(refusal.status, str(refusal))
        # Servers cut off an answer that has begun.
        await _answer(send, refusal.status, said, **told)


def _refusal_for(error: Exception) -> RefusedRequest:
    """Return the answer to a failed request; a failure that is no refusal is logged."""
    match error:
        case RefusedRequest():
            return error
        case errors.LimitReached():
            said = in_words(str(error))
            return RefusedRequest(error.status, said, retry_after=error.retry_after)
        case AgentError() | AddressRefused():
            return RefusedRequest(403, in_words(str(error)))
    log.error("the gateway failed to answer", exc_info=error)
    return RefusedRequest(500, in_words(errors.why_unread(error) or explain_write_error(error)))


def _read_call(scope: Mapping[str, Any]) -> IncomingRequest:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin1").lower(), value.decode("latin1"))
    path = scope["path"].removeprefix(ROOT)
    token = headers.get("x-palimpsest-token", "")
    if found := _TOKEN_IN_PATH.fullmatch(path):
        token, path = found[1], found[2]
    is_apart = bool(token)
    scheme, _space, bearer = headers.get("authorization", "").partition(" ")
    bearer = bearer.strip() if scheme.lower() == "bearer" else ""
    # Some clients send something else as one of the two.
    given = [headers.get("x-api-key", ""), bearer]
    given.sort(key=lambda one: not one.startswith(ApiToken.PREFIX))
    token = token or given[0] or given[1]
    known = next((one for one in DIALECTS if path in one.paths | one.beside), None)
    spoken = messages.DIALECT if "anthropic-version" in headers else chat_completions.DIALECT
    return IncomingRequest(scope, path, token, is_apart, headers, known or spoken)


async def _body(receive: Any) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        check_size(size)
        if not message.get("more_body"):
            return b"".join(parts)


async def _serve(call: IncomingRequest, body: bytes, receive: Any, send: Any) -> None:
    dialect = call.dialect
    if (listed := _MODELS.fullmatch(call.path)) and call.scope["method"] in _READING:
        await _answer(send, 200, await reading(_models)(call, listed[1] or ""))
        return
    token, upstream = await reading(_admitted)(call, body)
    program = _PROGRAM.match(call.headers.get("user-agent", "")[:100])
    told = (upstream.profile, call.headers, body, program[0] if program else "")
    request = GatewayRequest(token, dialect, *told)
    if token.has_budgets:
        await reading(_check_budget)(request)
    recording = Recording(request, call.path in dialect.paths, call.path in dialect.counting)
    work = asyncio.ensure_future(_pass_on(call, upstream, recording, send))
    # All of the request is here: what comes now says that its client left.
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientGone
        await work
    finally:
        gone.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
        if not recording.is_over:
            recording.end(GONE if work.cancelled() else UNREACHED)


def _admit(call: IncomingRequest) -> ApiToken:
    """Return the token of a request; raise Refusal for a wrong one, and beyond limits."""
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = (call.scope.get("client") or ("",))[0]
    # A proxy may add a line of its own to those of a client.
    hops = [value for name, value in call.scope["headers"] if name.lower() == b"x-forwarded-for"]
    request.META["HTTP_X_FORWARDED_FOR"] = b",".join(hops).decode("latin1")
    client_address(lambda _request: HttpResponse())(request)
    found = find_gateway_token(call.token)
    if found is None and not GuessLimit(request, realm="api").take():
        raise RefusedRequest(429, _("Too many tokens were wrong. Try again in 15 minutes."))
    if found is None or found.scope != ApiToken.Scope.GATEWAY:
        said = _("Send a token of the gateway, which Settings > Gateway makes.")
        raise RefusedRequest(401, said, www_authenticate="Bearer")
    reader_of(request, found.owner).enter()
    count_request(found.owner)
    spending.check_spending_by(found.owner)
    return found


def _admitted(call: IncomingRequest, body: bytes) -> tuple[ApiToken, Upstream]:
    """Return a request's token and its upstream; raise Refusal."""
    token, dialect = _admit(call), call.dialect
    if call.path not in dialect.paths | dialect.beside:
        raise RefusedRequest(404, _("There is nothing at this address."))
    if "sec-websocket-key" in call.headers:
        raise RefusedRequest(426, _("There are no WebSockets here. Send the request over HTTP."))
    if call.scope["method"] != "POST":
        raise RefusedRequest(405, _("This address doesn't accept that method."), allow="POST")
    if any(_CONTROL.search(one) for one in call.headers.values()):
        raise RefusedRequest(400, _("A header has a character that headers can't have."))
    if encoding := call.headers.get("content-encoding", ""):
        body = decoded(body, encoding)
    is_chosen = token.profile and token.profile.provider == dialect.provider
    model = "" if is_chosen else str(read_body(body, "").value.get("model") or "")
    own_key = call.is_apart and not {"authorization", "x-api-key"}.isdisjoint(call.headers)
    return token, find_upstream(token, dialect.provider, model, own_key=own_key)


def _check_budget(request: GatewayRequest) -> None:
    """Raise SpendingLimitReached if the conversation that a request continues has spent it."""
    if found := find_known(request, find_end(request)):
        spending.check_spending(found.pk)


def _models(call: IncomingRequest, name: str) -> bytes:
    """Return the models of a user's profiles, or one of them, as both APIs have them."""
    dated: dict[str, Any] = {"created": 0, "created_at": "1970-01-01T00:00:00Z"}
    found = {
        one.model: {"id": one.model, "object": "model", "type": "model", **dated}
        | {"display_name": one.name, "owned_by": one.provider, "max_tokens": one.max_output}
        | {"context_length": one.context_window, "max_input_tokens": one.context_window}
        for one in _admit(call).owner.profiles.all()
        if one.spec.url
    }
    if name and name not in found:
        raise RefusedRequest(404, _("None of your profiles has the model “{model}”.", model=name))
    ends = {"first_id": next(iter(found), None), "last_id": next(reversed(found), None)}
    listed = {"object": "list", "data": [*found.values()], "has_more": False, **ends}
    return json.dumps(found[name] if name else listed).encode()


async def _pass_on(
    call: IncomingRequest, upstream: Upstream, recording: Recording, send: Any
) -> None:
    """Pass a request on, and its answer back as it comes."""
    url = upstream.url(call.dialect, call.path, call.scope["query_string"])
    given = [(name.lower(), value) for name, value in call.scope["headers"]]
    if (body := await recording.outgoing()) is not recording.request.raw:
        # A fold's text is not encoded.
        given = [one for one in given if one[0] != b"content-encoding"]
    headers = upstream.headers(given)
    recording.keys, recording.is_sent = keys_in(headers), True
    try:
        async with sent(upstream, url, headers, body) as answer:
            raw = [(name.lower(), value) for name, value in answer.raw_headers]
            recording.status = answer.status
            recording.headers = {name.decode(): value.decode("latin1") for name, value in raw}
            if answer.status in REDIRECTS:
                # A client that went there would take its token along.
                away = REDIRECTED.format(host=host_of(str(url)))
                recording.end(away)
                raise RefusedRequest(502, in_words(away))
            kept = [one for one in answer.raw_headers if one[0].lower() not in HOP_BY_HOP]
            await send({"type": "http.response.start", "status": answer.status, "headers": kept})
            async for chunk in answer.content.iter_any():
                await recording.keep_in_line()
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                recording.take(chunk)
            recording.end()
            await send({"type": "http.response.body", "body": b""})
    except AddressRefused as error:
        recording.end(str(error))
        raise
    except FAILURES as error:
        log.warning("the gateway's line to a provider broke: %r", error)
        why = why_unreached(error, proxy_of(str(url), upstream.guard))
        lost = (
            ANSWER_BROKE_OFF
            if recording.status
            else say("The provider can't be reached. {why}", why=why)
        )
        recording.end(lost)
        said = in_words(lost)
        if not recording.status:
            raise RefusedRequest(502, said) from error
        told = b"event: error\ndata: " + call.dialect.refusal(502, said) + b"\n\n"
        await send({"type": "http.response.body", "body": told if recording.is_stream else b""})


async def _answer(send: Any, status: int, body: bytes, **more: str) -> None:
    told = {"content_type": "application/json", "content_length": str(len(body)), **more}
    headers = [(name.replace("_", "-").encode(), one.encode()) for name, one in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
