"""Messages as the Chat Completions API has them: a list, or an object with ``messages``."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chatapp.transfer import Piece
from chatapp.transfer.foreign_blocks import (
    Block,
    call_block,
    joined_text,
    listed,
    parts_of,
    result_block,
)
from chatapp.transfer.transcript_files import Sample, read_items
from chatapp.transfer.transcripts import Transcript

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
    """Yield the messages, calls and results; the first system message is the system prompt."""
    return _Chat().read(read_items(path))


class _Chat(Transcript):
    def take(self, index: int, item: Any, /) -> None:
        match item:
            case {"role": "system" | "developer", "content": content}:
                self._take_prompt(index, joined_text(content))
            case {"role": "tool" | "function", **answer}:
                result = result_block(answer.get("tool_call_id"), answer.get("content"))
                self._say(index, "user", [result])
            case {"role": "user" | "assistant" as role, **said}:
                self._say(index, role, _blocks(said))
            case _:
                self.refuse(index, "This is no message of this form.")

    def _take_prompt(self, index: int, text: str) -> None:
        if text and not (self.messages or self.besides):
            self.describe(system_prompt=text)
        else:
            reason = "A system message is used at the beginning only, as the system prompt."
            self.refuse(index, reason)

    def _say(self, index: int, role: str, blocks: list[Block | None]) -> None:
        usable = [block for block in blocks if block]
        if len(usable) < len(blocks) or not usable:
            self.refuse(index, "Part of the message, or all of it, can't be used.")
        self.say(role, usable)


def _blocks(said: Mapping[Any, Any]) -> list[Block | None]:
    calls = listed(said.get("tool_calls"))
    return [*parts_of(said.get("content")), *map(_call, calls)]


def _call(call: Any) -> Block | None:
    match call:
        case {"id": call_id, "function": {"name": name, "arguments": arguments}}:
            return call_block(name, call_id, arguments)
    return None
