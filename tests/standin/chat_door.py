"""The stand-in's other door: OpenAI's chat completions, as strict as the first."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.standin.behaviours import OVERFLOW, Failure, Gate, Raw, Rest
from tests.standin.chat_reading import as_messages
from tests.standin.chat_rules import violations
from tests.standin.chat_writing import Completion
from tests.standin.metering import measure
from tests.standin.receiving import key_of, read_json, received

if TYPE_CHECKING:
    from tests.standin.server import Standin

WRONG_KEY = Failure(401, "invalid_request_error", "Incorrect API key provided.")


class ConnectionCut(Exception):
    """Ends a response in the middle, as a broken line does."""


def routes(standin: "Standin") -> list[Route]:
    """Return the addresses of this door."""

    async def completions(request: Request) -> Response:
        return await _complete(standin, request)

    return [Route("/v1/chat/completions", completions, methods=["POST"])]


async def _complete(standin: "Standin", request: Request) -> Response:
    body, problems = await read_json(request)
    problems = problems or violations(body)
    standin.requests.append(await received(request, body, problems))
    if standin.key is not None and key_of(request) != standin.key:
        return _fail(standin, WRONG_KEY)
    if problems:
        return _fail(standin, Failure(400, "invalid_request_error", problems[0]))
    read = as_messages(body)
    behaviour = standin.next(read)
    if isinstance(behaviour, Failure):
        return _fail(standin, behaviour)
    tokens = await asyncio.to_thread(measure, read, standin.factor)
    if tokens > standin.window:
        return _overflow(standin, tokens)
    number = standin.number()
    usage = await asyncio.to_thread(standin.cache.usage, read)
    tells = not body.get("stream") or bool(body.get("stream_options"))
    written = Completion(behaviour, f"chatcmpl-{number:06}", body["model"], usage, tells)
    headers = {"x-request-id": f"req_{number:06}"}
    if body.get("stream"):
        return StreamingResponse(_stream(written), 200, headers, "text/event-stream")
    return JSONResponse(written.message(), headers=headers)


def _overflow(standin: "Standin", tokens: int) -> Response:
    said = (
        f"This model's maximum context length is {standin.window} tokens. However, your messages "
        f"resulted in {tokens} tokens. Please reduce the length of the messages."
    )
    return _fail(standin, Failure(400, "invalid_request_error", said), "context_length_exceeded")


def _fail(standin: "Standin", failure: Failure, code: str | None = None) -> JSONResponse:
    if failure == OVERFLOW:
        return _overflow(standin, standin.window + 1)
    error: Mapping[str, Any] = {
        "message": failure.message,
        "type": failure.type,
        "param": None,
        "code": code,
    }
    body = {"error": error} if failure.body is None else failure.body
    headers = {"x-request-id": f"req_{standin.number():06}", **failure.headers}
    return JSONResponse(body, failure.status, headers)


async def _stream(written: Completion) -> AsyncIterator[str]:
    for chunk in written.chunks():
        if isinstance(chunk, Gate):
            await asyncio.to_thread(chunk.pass_through)
        elif isinstance(chunk, Raw):
            yield chunk.text
        elif isinstance(chunk, Rest):
            await asyncio.sleep(chunk.seconds)
        elif chunk.get("type") == "cut":
            raise ConnectionCut
        else:
            yield f"data: {json.dumps(chunk)}\n\n"
            if "error" in chunk:
                return
    yield "data: [DONE]\n\n"
