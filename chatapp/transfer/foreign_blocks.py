"""Content blocks made of other programs' records."""

from collections.abc import Mapping
from typing import Any

import condense
from chatapp.providers import request_bytes

Block = dict[str, Any]

_JSON_NAMES = {dict: "an object", list: "a list", str: "text", bool: "true or false"}


def listed(value: Any) -> list[Any]:
    """Return a list, an empty one for what is none."""
    return value if isinstance(value, list) else []


def text_block(text: str) -> Block:
    """Return text as a block."""
    return {"type": "text", "text": text}


def call_block(name: Any, call_id: Any, arguments: Any) -> Block | None:
    """Return a tool's call, None for what is none; arguments that are no JSON are kept as text."""
    if not (isinstance(name, str) and isinstance(call_id, str)):
        return None
    given = request_bytes.decode_input(arguments) if isinstance(arguments, str) else arguments
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {}}


def result_block(call_id: Any, output: Any) -> Block | None:
    """Return a tool's result, None for what is none."""
    if not isinstance(call_id, str):
        return None
    text = output if isinstance(output, str) else request_bytes.encode(output).decode()
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def parts_of(content: Any) -> list[Block]:
    """Return the blocks of a message whose parts are text and images, under whatever name."""
    if isinstance(content, str):
        return [text_block(content)] if content.strip() else []
    return [block for part in listed(content) if (block := _part(part))]


def joined_text(content: Any) -> str:
    """Return the text of a message's parts, with empty lines between them."""
    return "\n\n".join(part["text"] for part in parts_of(content) if "text" in part)


def _part(part: Any) -> Block | None:
    match part:
        case {"type": "text" | "input_text" | "output_text" | "refusal", **rest}:
            text = rest.get("text", rest.get("refusal"))
            return text_block(text) if isinstance(text, str) and text.strip() else None
        case {"type": "image_url" | "input_image", "image_url": {"url": str(url)} | str(url)}:
            return _image_block(url)
    return None


def _image_block(url: str) -> Block | None:
    kind, comma, data = url.partition(";base64,")
    if comma and kind.startswith("data:image/"):
        source = {"type": "base64", "media_type": kind.removeprefix("data:"), "data": data}
        return {"type": "image", "source": source}
    if url.startswith(("https://", "http://")):
        return {"type": "image", "source": {"type": "url", "url": url}}
    return None


def check_message(item: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """Return a message of the Messages API, less blocks that can't be used, and what is wrong."""
    if reason := _wrong_message(item):
        return None, [reason]
    content, reasons = item.get("content"), list[str]()
    if isinstance(content, list):
        reasons = [reason for block in content if (reason := _wrong_block(block))]
        # Only what was written here says what stands beside somebody's words.
        content = [
            {name: value for name, value in block.items() if name != condense.BESIDE}
            for block in content
            if not _wrong_block(block)
        ]
    if _is_empty(content):
        return None, [*reasons, "The message has no content that can be used."]
    pinned = {"pinned": True} if item.get("pinned") is True else {}
    return {"role": item["role"], "content": content, **pinned}, reasons


def _wrong_message(item: Any) -> str:
    if not isinstance(item, dict):
        return f"A message is a JSON object, not {_name_of(item)}."
    if "role" not in item and isinstance(item.get("type"), str):
        return f"An item of type {_quoted(item['type'])} stands alone, not in a message."
    if item.get("role") not in ("user", "assistant"):
        return f"A role is 'user' or 'assistant', not {_quoted(item.get('role'))}."
    content = item.get("content")
    if not isinstance(content, str | list | None):
        return f"Content is text or a list of blocks, not {_name_of(content)}."
    return ""


def _wrong_block(block: Any) -> str:
    """Return what is wrong with a block that the engine reads; other types pass as they are."""
    match block:
        case {"type": "text", "text": str()} | {"type": "image", "source": dict()}:
            return ""
        case {"type": "tool_use", "id": str(), "name": str(), "input": _}:
            return ""
        case {"type": "tool_result", "tool_use_id": str(), **rest} if _is_output(rest):
            return ""
        case {"type": "text" | "image" | "tool_use" | "tool_result" as kind}:
            return f"A {kind} block does not have the form the API gives it."
        case {"type": str()}:
            return ""
    return "A content block is a JSON object with a type."


def _is_output(result: Mapping[Any, Any]) -> bool:
    content = result.get("content")
    return isinstance(content, str | None) or (
        isinstance(content, list) and all(isinstance(part, dict) for part in content)
    )


def _is_empty(content: Any) -> bool:
    if isinstance(content, list):
        return all(block["type"] == "text" and not block["text"].strip() for block in content)
    return not (content or "").strip()


def _quoted(value: Any) -> str:
    """Return a short form of a value that may be anything."""
    return repr(value) if len(repr(value)) <= 40 else _name_of(value)  # noqa: PLR2004 - characters


def _name_of(value: Any) -> str:
    return "null" if value is None else _JSON_NAMES.get(type(value), "a number")
