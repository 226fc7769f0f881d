"""Messages as the Chat Completions API has them: a list, or an object with ``messages``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chatapp.exchange import Beside, Piece, Problem
from chatapp.exchange.samples import Sample
from chatapp.exchange.streams import read_items
from chatapp.exchange.talks import Talk, call_block, listed, parts_of, result_block

LABEL = "OpenAI messages"

_ROLES = {"system", "developer", "tool", "function"}
_PARTS = {"image_url", "input_text", "output_text", "input_image"}


def recognise(sample: Sample) -> bool:
    """Whether something in it is only said there."""
    return not sample.in_lines and any(map(_is_own, sample.items))


def _is_own(item: dict[str, Any]) -> bool:
    parts = (part for part in listed(item.get("content")) if isinstance(part, dict))
    has_own_part = any(str(part.get("type")) in _PARTS for part in parts)
    return str(item.get("role")) in _ROLES or "tool_calls" in item or has_own_part


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield the messages, calls and results; what a system message says is told beside them."""
    talk = Talk()
    for found in read_items(path):
        if isinstance(found, Problem):
            talk.problems.append(found)
        else:
            _take(talk, *found)
    yield from talk.pieces()


def _take(talk: Talk, index: int, item: Any) -> None:
    match item:
        case {"role": "system" | "developer", "content": content}:
            _take_prompt(talk, index, content)
        case {"role": "tool" | "function", **answer}:
            result = result_block(answer.get("tool_call_id"), answer.get("content"))
            _say(talk, index, "user", [result])
        case {"role": "user" | "assistant" as role, **said}:
            calls = [_call(one) for one in listed(said.get("tool_calls"))]
            _say(talk, index, role, [*parts_of(said.get("content")), *calls])
        case _:
            talk.refuse(index, "This is no message of this form.")


def _take_prompt(talk: Talk, index: int, content: Any) -> None:
    """Take the first prompt as the conversation's own."""
    text = "\n\n".join(part["text"] for part in parts_of(content) if "text" in part)
    if talk.messages or talk.besides or not text:
        talk.refuse(index, "A system message is used at the beginning only, as the system prompt.")
    else:
        talk.besides.append(Beside("conversation", {"system_prompt": text}))


def _call(call: Any) -> dict[str, Any] | None:
    match call:
        case {"id": call_id, "function": {"name": name, "arguments": arguments}}:
            return call_block(name, call_id, arguments)
    return None


def _say(talk: Talk, index: int, role: str, blocks: list[dict[str, Any] | None]) -> None:
    usable = [block for block in blocks if block]
    if len(usable) < len(blocks) or not usable:
        talk.refuse(index, "Part of the message, or all of it, can't be used.")
    talk.say(role, usable)
