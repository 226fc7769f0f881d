"""The searchable text of a message: the words that people see in its row."""

import json
import re
from collections.abc import Iterator
from typing import Any

# Characters of scripts that put no space between words: Thai to Burmese, Khmer, East Asia's.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\uff66-\uffdc\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")


def searchable_text(content: str) -> str:
    """Return what a message's content, as it is stored, adds to the index of words."""
    try:
        text = visible_text(json.loads(content))
    except (ValueError, RecursionError):
        # Whatever it is, it must be stored; it is only not found.
        return ""
    return space_out(text) if text.isascii() else _clean(space_out(text))


def visible_text(content: Any) -> str:
    """Return what people see of a content: texts, thoughts, arguments of calls, and results."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(text for block in blocks for text in _texts(block))


def space_out(text: str) -> str:
    """Put each character that may be a word of its own between spaces."""
    return text if text.isascii() else _UNSPACED_CHARACTER.sub(r" \g<0> ", text)


def is_unspaced(character: str) -> bool:
    """Whether a character may be a word of its own."""
    return bool(_UNSPACED_CHARACTER.match(character))


def _texts(block: Any) -> Iterator[str]:
    match block:
        case {"beside": {"kind": "environment"}}:
            return
        case {"type": "text", "text": str(text)} | {"type": "thinking", "thinking": str(text)}:
            yield text
        case {"type": "image", "beside": {"name": str(name)}}:
            yield f"[{name}]"
        case {"type": "tool_use", "input": arguments}:
            yield from _strings(arguments)
        case {"type": "tool_result", "content": str(text)}:
            yield text
        case {"type": "tool_result", "content": [*parts]}:
            yield from (text for part in parts for text in _plain(part))


def _plain(part: Any) -> Iterator[str]:
    match part:
        case {"type": "text", "text": str(text)}:
            yield text


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings in a value, in their order, however deep they lie."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(members):
                waiting.extend(reversed(members.values()))
            case list(items):
                waiting.extend(reversed(items))


def _clean(text: str) -> str:
    """Return a text that can be written as UTF-8."""
    return text.encode(errors="replace").decode()
