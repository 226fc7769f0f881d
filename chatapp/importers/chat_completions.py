"""Messages as the Chat Completions API has them: a list, or an object with ``messages``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy

from chatapp.transfer import Piece, transcripts
from chatapp.transfer.transcript_files import Sample, read_items
from condense import noop

LABEL = noop("OpenAI messages")
WHERE = gettext_lazy("A JSON file with a list of messages.")

NOT_FIRST = noop("A system message is used at the beginning only, as the system prompt.")

_ROLES = {"system", "developer", "tool", "function"}
_PARTS = {"image_url", "input_text", "output_text", "input_image"}


def recognise(sample: Sample) -> bool:
    """Whether something in it is only said there."""
    parts = [part for item in sample.items for part in transcripts.listed(item.get("content"))]
    return not sample.in_lines and (
        any(str(item.get("role")) in _ROLES or "tool_calls" in item for item in sample.items)
        or any(isinstance(part, dict) and str(part.get("type")) in _PARTS for part in parts)
    )


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield the messages, calls and results; the first system message is the system prompt."""
    return _Chat().read(read_items(path))


class _Chat(transcripts.Transcript):
    def take(self, index: int, item: Any, /) -> None:
        match item:
            case {"role": "system" | "developer", "content": content}:
                if (text := transcripts.joined_text(content)) and not (
                    self.messages or self.besides
                ):
                    self.describe(system_prompt=text)
                else:
                    self.refuse(index, NOT_FIRST)
            case {"role": "tool" | "function", **answer}:
                result = transcripts.result_block(answer.get("tool_call_id"), answer.get("content"))
                self._say(index, "user", [result])
            case {"role": "user" | "assistant" as role, **said}:
                calls = map(_call, transcripts.listed(said.get("tool_calls")))
                self._say(index, role, [*transcripts.parts_of(said.get("content")), *calls])
            case _:
                self.refuse(index, noop("This is no message of this form."))

    def _say(self, index: int, role: str, blocks: list[transcripts.Block | None]) -> None:
        usable = [block for block in blocks if block]
        if len(usable) < len(blocks) or not usable:
            self.refuse(index, noop("Part of the message, or all of it, can't be used."))
        self.say(role, usable)


def _call(call: Any) -> transcripts.Block | None:
    match call:
        case {"id": call_id, "function": {"name": name, "arguments": arguments}}:
            return transcripts.call_block(name, call_id, arguments)
    return None
