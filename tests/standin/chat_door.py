"""The stand-in's other door: OpenAI's chat completions, as strict as the first."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.standin.behaviours import OVERFLOW, Answer, Failure
from tests.standin.chat_rules import violations
from tests.standin.chat_writing import Completion
from tests.standin.metering import measure
from tests.standin.receiving import key_of, read_json, received, send, stream

if TYPE_CHECKING:
    from tests.standin.server import Standin

Body = Mapping[str, Any]

# Every beginning of a prompt is cached here, unasked.
MARK = {"cache_control": {"type": "ephemeral"}}

WRONG_KEY = Failure(401, "invalid_request_error", "Incorrect API key provided.")


def routes(standin: "Standin") -> list[Route]:
    """Return the addresses of this door."""

    async def completions(request: Request) -> Response:
        return await _complete(standin, request)

    return [Route("/v1/chat/completions", completions, methods=["POST"])]


async def _complete(standin: "Standin", request: Request) -> Response:
    body, problems = await read_json(request)
    vendor = standin.vendor
    problems = problems or (vendor.refusal(body) if vendor else violations(body))
    standin.requests.append(await received(request, body, problems))
    if standin.key is not None and key_of(request) != standin.key:
        return _fail(standin, WRONG_KEY)
    if problems:
        status = vendor.status if vendor else 400
        return _fail(standin, Failure(status, "invalid_request_error", problems[0]))
    read = as_messages(body)
    behaviour = standin.next(read)
    if isinstance(behaviour, Failure | Answer):
        return send(behaviour) if isinstance(behaviour, Answer) else _fail(standin, behaviour)
    tokens = await asyncio.to_thread(measure, read, standin.factor)
    if tokens > standin.window:
        return _overflow(standin, tokens)
    number = standin.number()
    usage = await asyncio.to_thread(standin.cache.usage, read)
    tells = not body.get("stream") or bool(body.get("stream_options"))
    field = vendor.field if vendor else "reasoning_content"
    name = f"chatcmpl-{number:06}"
    written = Completion(behaviour, name, body["model"], usage, tells, field)
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
    last = ""
    async for last in stream(written.chunks(), lambda chunk: f"data: {json.dumps(chunk)}\n\n"):
        yield last
    if not last.startswith('data: {"type": "error"'):
        yield "data: [DONE]\n\n"
    async for nothing in stream([written.reply.end] if written.reply.end else (), str):
        yield nothing


def as_messages(body: Body) -> dict[str, Any]:
    """Return a valid request in the other API's shape, every block marked for the cache."""
    messages: list[dict[str, Any]] = []
    system = ""
    for message in body["messages"]:
        if message["role"] == "system":
            system = message["content"]
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": []})
        messages[-1]["content"] += [{**block, **MARK} for block in _blocks(message)]
    said = {
        "model": body["model"],
        "messages": messages,
        "tools": [*map(_tool, body.get("tools") or [])],
    }
    return {**said, "system": [{"type": "text", "text": system, **MARK}]} if system else said


def _tool(tool: Body) -> dict[str, Any]:
    function = tool["function"]
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "input_schema": function["parameters"],
    }


def _blocks(message: Body) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        answer = {"type": "tool_result", "tool_use_id": message["tool_call_id"]}
        return [{**answer, "content": message["content"]}]
    content = message.get("content") or []
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else []
    blocks += [_part(part) for part in content] if isinstance(content, list) else []
    for call in message.get("tool_calls", ()):
        name, text = call["function"]["name"], call["function"]["arguments"]
        use = {"type": "tool_use", "id": call["id"], "name": name, "input": json.loads(text)}
        blocks.append(use)
    return blocks


def _part(part: Body) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    kind, _, data = part["image_url"]["url"].partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": kind[5:], "data": data}}
