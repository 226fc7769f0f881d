"""The stand-in's third door: OpenAI's Responses API, as strict as the others."""

import asyncio
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.standin.behaviours import Failure, Reply
from tests.standin.metering import count_text, measure
from tests.standin.receiving import read_json, received, stream

if TYPE_CHECKING:
    from tests.standin.server import Standin

Body = Mapping[str, Any]

# The type of a text, by who says it.
TEXTS = {"user": "input_text", "developer": "input_text", "assistant": "output_text"}
CALLS = {"function_call", "custom_tool_call"}
RESULTS = {"function_call_output", "custom_tool_call_output"}


def routes(standin: "Standin") -> list[Route]:
    """Return the address of this door."""

    async def respond(request: Request) -> Response:
        body, problems = await read_json(request)
        problems = problems or [*violations(body["input"])]
        standin.requests.append(await received(request, body, problems))
        if problems:
            error = {"message": problems[0], "type": "invalid_request_error"}
            return JSONResponse({"error": error}, 400)
        read = as_messages(body)
        behaviour = standin.next(read)
        if isinstance(behaviour, Failure) or not isinstance(behaviour, Reply):
            return JSONResponse({"error": {"message": "No."}}, 500)
        tokens = await asyncio.to_thread(measure, read, standin.factor)
        custom = {str(one.get("name")) for one in _tools(body) if one["type"] == "custom"}
        written = _response(behaviour, standin.number(), tokens, custom)
        if body.get("stream"):
            return StreamingResponse(
                stream(_events(written), _event), media_type="text/event-stream"
            )
        return JSONResponse(written)

    return [Route("/v1/responses", respond, methods=["POST"])]


def violations(items: Sequence[Body]) -> Iterator[str]:
    """Yield why the API would refuse an input."""
    yield from _reasoning(items)
    waiting = set[str]()
    for index, item in enumerate(items):
        match {"type": "message", **item}:
            case {"type": "message", "role": ("user" | "developer" | "assistant") as role, **said}:
                content = said.get("content")
                parts = content if isinstance(content, list) else [{"type": TEXTS[role]}]
                if not content or any(one["type"] != TEXTS[role] for one in parts):
                    yield f"Invalid value: 'input[{index}].content'"
            case {"type": kind, "call_id": str(name)} if kind in CALLS:
                waiting.add(name)
            case {"type": kind, "call_id": str(name)} if kind in RESULTS and name in waiting:
                waiting.remove(name)
            case {"type": kind} if kind in RESULTS:
                yield f"No tool call found for function call output 'input[{index}]'"
            case {"type": "reasoning", "encrypted_content": str()}:
                pass
            case {"type": "additional_tools", "role": "developer", "tools": [_, *_]}:
                pass
            case _:
                yield f"Invalid value: 'input[{index}]'"
    if waiting:
        yield f"No tool output found for function call {sorted(waiting)[0]}."


def _reasoning(items: Sequence[Body]) -> Iterator[str]:
    for item, following in pairwise([*items, {"type": "end"}]):
        is_answer = following.get("role") == "assistant" or following.get("type") in CALLS
        if item.get("type") == "reasoning" and not is_answer:
            yield "Item of type 'reasoning' was provided without its required following item."
    known = {item.get("id") for item in items}
    for name in filter(None, known):
        _kind, _line, thought = name.partition("_of_")
        if thought and thought not in known:
            yield f"Item '{name}' was provided without its required 'reasoning' item: '{thought}'."


def as_messages(body: Body) -> dict[str, Any]:
    """Return a valid request in the Messages API's shape."""
    messages: list[dict[str, Any]] = []
    for item in body["input"]:
        kind = item.get("type", "message")
        is_own = kind in {*CALLS, "reasoning"} or item.get("role") == "assistant"
        role = "assistant" if is_own else "user"
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": []})
        names = ("content", "output", "arguments", "input")
        content = next(filter(None, map(item.get, names)), "")
        texts = content if isinstance(content, list) else [{"text": content}]
        blocks = [{"type": "text", "text": one["text"]} for one in texts]
        if kind in RESULTS:
            answer = {"type": "tool_result", "tool_use_id": item["call_id"]}
            blocks = [{**answer, "content": "\n".join([one["text"] for one in texts])}]
        messages[-1]["content"] += blocks
    named = [one["name"] for one in _tools(body) if "name" in one] or ["read"]
    tools = [{"name": one, "description": "", "input_schema": {}} for one in named]
    return {"model": "gpt", "messages": messages, "tools": tools}


def _tools(body: Body) -> Iterator[Body]:
    """Yield the tools of a request; items may offer some, too, and namespaces hold some."""
    for told in (body, *body["input"]):
        for one in told.get("tools", ()):
            yield from one.get("tools") or [one]


def _response(reply: Reply, number: int, tokens: int, custom: Container[str]) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    after = f"_of_rs_{number}" if reply.thinking else f"_{number}"
    if reply.thinking:
        told = [{"type": "summary_text", "text": reply.thinking}] if number % 2 else []
        sealed = {"summary": told, "encrypted_content": f"sealed-{number}"}
        output.append({"type": "reasoning", "id": f"rs_{number}", **sealed})
    if reply.text:
        said = [{"type": "output_text", "text": reply.text, "annotations": []}]
        message = {"type": "message", "role": "assistant", "status": "completed", "content": said}
        output.append({"id": f"msg{after}", **message})
    for place, call in enumerate(reply.tools):
        names = {"id": f"fc{place}{after}", "call_id": f"call_{number}_{place}"}
        given = {"type": "function_call", "arguments": json.dumps(dict(call.input))}
        if call.name in custom:
            text = call.input.get("input") or given["arguments"]
            given = {"type": "custom_tool_call", "input": text}
        output.append({"name": call.name, **names, **given})
    written = count_text(json.dumps(output))
    usage = {"input_tokens": tokens, "output_tokens": written, "total_tokens": tokens + written}
    told = {"id": f"resp_{number}", "object": "response", "status": "completed"}
    return {**told, "model": "gpt-6.1-sol", "output": output, "usage": usage}


def _events(response: Body) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream: each item as a whole."""
    started = {**response, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": started}
    for place, item in enumerate(response["output"]):
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    yield {"type": "response.completed", "response": response}


def _event(event: Body) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
