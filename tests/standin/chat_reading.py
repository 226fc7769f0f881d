"""Chat completions in the words of the Messages API, which the stand-in thinks in."""

import json
from collections.abc import Mapping
from typing import Any

Body = Mapping[str, Any]

# Every beginning of a prompt is cached here, unasked.
MARK = {"cache_control": {"type": "ephemeral"}}


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
    said = {"model": body["model"], "messages": messages, "tools": [*map(_tool, _given(body))]}
    return {**said, "system": [{"type": "text", "text": system, **MARK}]} if system else said


def _given(body: Body) -> list[Body]:
    return body.get("tools") or []


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
