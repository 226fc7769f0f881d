"""Write a request as the Messages API takes it, with marks for the prompt cache."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import condense
from chatapp.agent.ports import Model, ModelRequest, ToolSpec
from chatapp.providers.anthropic.blocks import acceptable
from chatapp.providers.anthropic.spec import BINDING_THINKING

CACHED_MESSAGES = 2
BINDING_BETA = "thinking-binding-controls-2026-08-01"
GONE_TOOL = "Used earlier in this conversation; it cannot be called any more."

_MARK = {"cache_control": {"type": "ephemeral"}}
_MARKABLE = ("text", "image", "document", "tool_use", "tool_result")
_THINKING = ("thinking", "redacted_thinking")


def write_request(request: ModelRequest, model: Model) -> dict[str, Any]:
    """Return the keyword arguments of the SDK's ``messages.create``.

    Four cache marks at most: the tools, the system prompt, and the last two user messages.
    """
    history = acceptable(request.messages)
    messages = [_without_marks(message.to_api()) for message in history]
    body: dict[str, Any] = {
        "model": model.name,
        "max_tokens": max(1, model.max_output),
        "messages": _mark_last(messages),
    }
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, **_MARK}]
    return body | _tools(request.tools, history) | _thinking(model)


def write_count(request: ModelRequest, model: Model) -> dict[str, Any]:
    """Return the keyword arguments of the SDK's ``messages.count_tokens``."""
    body = write_request(request, model)
    del body["max_tokens"]
    return body


def without_thinking(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request without any thinking block, for when the vendor refuses one."""
    messages = [
        {"role": message["role"], "content": [*_unthinking(message["content"])]}
        if isinstance(message["content"], list)
        else message
        for message in body["messages"]
    ]
    return {**body, "messages": [message for message in messages if message["content"]]}


def holds_thinking(body: Mapping[str, Any]) -> bool:
    """Whether any message carries a thinking block."""
    return any(
        block["type"] in _THINKING
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    )


def _unthinking(blocks: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (block for block in blocks if block["type"] not in _THINKING)


def _thinking(model: Model) -> dict[str, Any]:
    """Condensing changes what stood before a kept thinking block: then it is to be left out."""
    if model.name not in BINDING_THINKING:
        return {}
    return {
        "thinking": {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        },
        "extra_headers": {"anthropic-beta": BINDING_BETA},
    }


def _tools(specs: Sequence[ToolSpec], messages: Sequence[condense.Message]) -> dict[str, Any]:
    if specs:
        tools = [spec.to_api() for spec in specs]
        tools[-1] |= _MARK
        return {"tools": tools}
    names = sorted(_tool_names(messages))
    if not names:
        return {}
    tools = [
        {"name": name, "description": GONE_TOOL, "input_schema": {"type": "object"}}
        for name in names
    ]
    return {"tools": tools, "tool_choice": {"type": "none"}}


def _tool_names(messages: Sequence[condense.Message]) -> set[str]:
    return {use.name for message in messages for use in message.tool_uses}


def _without_marks(value: Any) -> Any:
    """Return a copy in which no block carries a mark from wherever it came."""
    if isinstance(value, Mapping):
        is_block = isinstance(value.get("type"), str)
        return {
            key: inner if key in {"input", "source"} else _without_marks(inner)
            for key, inner in value.items()
            if not (is_block and key == "cache_control")
        }
    if isinstance(value, list | tuple):
        return [_without_marks(inner) for inner in value]
    return value


def _mark_last(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for index in users[-CACHED_MESSAGES:]:
        messages[index] = _marked(messages[index])
    return messages


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if content and content[-1].get("type") in _MARKABLE:
        content = [*content[:-1], {**content[-1], **_MARK}]
    return {**message, "content": content}
