"""Reads requests as chat completions have them: the way back from ``blocks``."""

from collections.abc import Iterator
from typing import Any

import condense
from chatapp.providers import wire
from chatapp.providers.formats import Frame, Json, listed


class ChatFormat:
    """The system prompt is a message, a tool's call a text, and its result a message of its own."""

    def frame(self, body: Json) -> Frame:
        """Return what stands beside the conversation's messages."""
        known = {"messages", "tools"}
        first = [one for one in listed(body.get("messages")) if one.get("role") == "system"]
        functions = [_mapping(tool.get("function")) for tool in listed(body.get("tools"))]
        return Frame(
            system="\n\n".join(str(one.get("content") or "") for one in first),
            tools={str(one.get("name", "")): one for one in functions},
            parameters={name: value for name, value in body.items() if name not in known},
        )

    def message(self, said: Json) -> condense.Message:
        """Return a message in the engine's words."""
        match said:
            case {"role": "tool", "tool_call_id": str(id_), "content": str(text)}:
                return condense.Message("user", (condense.ToolResultBlock(id_, text),))
            case {"role": "assistant"}:
                calls = map(_call, listed(said.get("tool_calls")))
                return condense.Message("assistant", (*_blocks(said.get("content")), *calls))
        return condense.Message("user", tuple(_blocks(said.get("content"))))


def _call(call: Json) -> condense.ToolUseBlock:
    function = _mapping(call.get("function"))
    arguments = wire.decode_input(str(function.get("arguments") or ""))
    return condense.ToolUseBlock(str(call.get("id")), str(function.get("name")), arguments)


def _blocks(content: object) -> Iterator[condense.Block]:
    if isinstance(content, str):
        yield condense.TextBlock(content)
    for part in listed(content):
        match part:
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                yield condense.ImageBlock(_source(url))
            case _:
                yield condense.block_from_api(part)


def _source(url: str) -> dict[str, Any]:
    kind, comma, data = url.removeprefix("data:").partition(";base64,")
    if comma and url.startswith("data:"):
        return {"type": "base64", "media_type": kind, "data": data}
    return {"type": "url", "url": url}


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}
