"""What OpenAI's chat completions refuse, as a pure function from a request's body to sentences.

``violations`` keeps to the API's own words where they are known. It also refuses what only other
servers of this API do, whose templates are stricter: this project promises never to send it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Body = Mapping[str, Any]

TOP_LEVEL = {
    *("model", "messages", "stream", "stream_options", "tools", "tool_choice", "temperature"),
    *("max_tokens", "max_completion_tokens", "reasoning_effort", "parallel_tool_calls", "top_p"),
    *("stop", "seed", "n", "user", "metadata", "response_format", "prompt_cache_key", "store"),
}
KEYS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
LONGEST_ID = 40
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def violations(body: Body) -> list[str]:
    """Return why the API would refuse the request; empty when it would take it."""
    found = [*_parameters(body), *_tools(body)]
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "[] is too short - 'messages'"]
    found += [one for index, message in enumerate(messages) for one in _shape(index, message)]
    return found or [*_order(messages), *_roles(messages)]


def _parameters(body: Body) -> Iterator[str]:
    for key in body.keys() - TOP_LEVEL:
        yield f"Unrecognized request argument supplied: {key}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "you must provide a model parameter"
    limits = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
    if len(limits) > 1:
        yield "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    for name in limits:
        if type(body[name]) is not int or body[name] < 1:
            yield f"Invalid '{name}': integer below minimum value."
    options = body.get("stream_options")
    if options is not None and (not body.get("stream") or options.keys() != {"include_usage"}):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."


def _tools(body: Body) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None:
        return
    if not tools:
        yield "Invalid 'tools': empty array."
    for index, tool in enumerate(tools):
        function = tool.get("function")
        if tool.keys() != {"type", "function"} or not isinstance(function, Mapping):
            yield f"Missing required parameter: 'tools[{index}].function'."
            continue
        if not _NAME.fullmatch(str(function.get("name", ""))):
            yield f"Invalid 'tools[{index}].function.name': string does not match pattern."
        schema = function.get("parameters")
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            yield f"Invalid schema for function {index}: schema must be a JSON Schema of 'object'."


def _shape(index: int, message: Any) -> Iterator[str]:
    where = f"messages[{index}]"
    role = message.get("role") if isinstance(message, Mapping) else None
    if role not in KEYS:
        yield f"Invalid value: {role!r}. Supported values are: {sorted(KEYS)}, '{where}.role'"
        return
    for key in message.keys() - KEYS[role]:
        yield f"Additional properties are not allowed: '{where}.{key}' was unexpected"
    yield from _content(where, role, message)
    if "tool_calls" in message:
        yield from _calls(where, message["tool_calls"])
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield f"Missing parameter 'tool_call_id': '{where}'"


def _content(where: str, role: str, message: Body) -> Iterator[str]:
    content = message.get("content")
    if content is None:
        if role != "assistant" or not message.get("tool_calls"):
            yield f"Invalid value for 'content': expected a string, got null. '{where}'"
        return
    if isinstance(content, str):
        if not content.strip() and role != "tool":
            yield f"'{where}.content' must not be empty"
        return
    if role != "user" or not isinstance(content, list) or not content:
        yield f"Invalid type for '{where}.content'"
        return
    for part in content:
        match part:
            case {"type": "text", "text": str(text), **rest} if text.strip() and not rest:
                pass
            case {"type": "image_url", "image_url": {"url": str(url)}, **rest} if not rest:
                if not url.startswith(("data:image/", "https://", "http://")):
                    yield f"Invalid image url in '{where}'"
            case _:
                yield f"Invalid content part in '{where}': {part}"


def _calls(where: str, calls: Any) -> Iterator[str]:
    if not isinstance(calls, list) or not calls:
        yield f"[] is too short - '{where}.tool_calls'"
        return
    for position, call in enumerate(calls):
        here = f"{where}.tool_calls[{position}]"
        match call:
            case {"id": str(id_), "type": "function", "function": {"name": str(name), **rest}}:
                if not 0 < len(id_) <= LONGEST_ID:
                    yield f"Invalid '{here}.id': string too long. Expected maximum length 40"
                if not _NAME.fullmatch(name):
                    yield f"Invalid '{here}.function.name': string does not match pattern."
                yield from _arguments(here, rest)
            case _:
                yield f"Missing required parameter: '{here}.function'."


def _arguments(here: str, rest: Body) -> Iterator[str]:
    if rest.keys() != {"arguments"} or not isinstance(rest["arguments"], str):
        got = type(rest.get("arguments")).__name__
        yield f"Invalid type for '{here}.function.arguments': expected a string, but got {got}"
        return
    try:
        value = json.loads(rest["arguments"])
    except ValueError:
        value = None
    if not isinstance(value, Mapping):
        yield f"'{here}.function.arguments' must be the JSON of an object"


def _order(messages: Sequence[Body]) -> Iterator[str]:
    """Every call is answered once, at once; every answer has its call before it."""
    waiting: list[str] = []
    for index, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield (
                    f"Invalid parameter: messages with role 'tool' must be a response to a "
                    f"preceding message with 'tool_calls', 'messages[{index}].role'"
                )
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield (
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(waiting)}"
            )
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        if len({*waiting}) < len(waiting):
            yield f"Duplicate ids in 'messages[{index}].tool_calls'"


def _roles(messages: Sequence[Body]) -> Iterator[str]:
    """The system speaks first and once; user and assistant take turns."""
    roles = [message["role"] for message in messages]
    if "system" in roles[1:]:
        yield "System message must be at the beginning."
    spoken = [role for role in roles if role not in {"system", "tool"}]
    if spoken[:1] != ["user"]:
        yield "The first message must be the user's."
    for role, following, place in zip(roles, roles[1:], range(1, len(roles)), strict=False):
        if role == following and role in {"user", "assistant"}:
            yield f"Conversation roles must alternate user/assistant, 'messages[{place}]'"
