"""Messages as the Chat Completions API has them: a list, or an object with ``messages``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, override

from django.utils.translation import gettext_lazy

from chatapp.records.transfer import Beside, Piece, transcripts
from chatapp.records.transfer.source_texts import fields, joined, listed
from chatapp.records.transfer.transcript_files import Sample, read_messages
from condense import USER_WORDS, noop

LABEL = noop("OpenAI messages")
WHERE = gettext_lazy("A JSON file with a list of messages.")

LOST = noop("Part of the message, or all of it, can't be used.")

_ROLES = {"system", "developer", "tool", "function"}
_PARTS = {"image_url", "input_text", "output_text", "input_image"}


def recognise(sample: Sample) -> bool:
    """Return True if a role, a part or a call has a form that only this API uses."""
    items = [item for item in sample.items if "role" in item]
    parts = [part for item in items for part in listed(item.get("content"))]
    return any(str(item["role"]) in _ROLES or "tool_calls" in item for item in items) or any(
        isinstance(part, dict) and str(part.get("type")) in _PARTS for part in parts
    )


def read_transcript(path: Path) -> Iterator[Piece]:
    """Yield the messages, calls and results; the first system message is the system prompt."""
    return Messages().read(read_messages(path))


class Messages(transcripts.Transcript):
    """A list of messages, one by one."""

    @override
    def take(self, index: int, item: Any, /) -> None:
        match item:
            case {"role": "system" | "developer", "content": content}:
                if (text := joined(content)) and self.messages:
                    block = transcripts.text_block(text) | {USER_WORDS: ""}
                    self.add_message({"role": "user", "content": [block]})
                elif text:
                    before = [one.item["system_prompt"] for one in self.besides]
                    prompt = {"system_prompt": "\n\n".join([*before, text])}
                    self.besides = [Beside("conversation", prompt)]
                else:
                    self.refuse(index, LOST)
            case {"role": "tool" | "function", **answer}:
                # Older forms of the API, and other servers, have no ids.
                tool = answer.get("name") or answer.get("tool_name")
                asked = answer.get("tool_call_id") or self._asked(tool)
                self._say(index, "user", [{"type": "tool_result", **answer, "id": asked}])
            case {"role": "user" | "assistant" as role, **said}:
                content = said.get("content") or said.get("refusal")
                content = content or fields(said.get("audio")).get("transcript")
                thought = said.get("reasoning_content") or said.get("reasoning")
                calls = [*listed(said.get("tool_calls")), said.get("function_call")]
                told = [
                    {"type": "function", "function": one} | one for one in map(fields, calls) if one
                ]
                parts = listed(content) or [content] * bool(content)
                self._say(index, role, [{"type": "thinking", "text": thought}, *parts, *told])
            case _:
                self.refuse(index, noop("This is no message of this form."))

    def _asked(self, tool: Any) -> str | None:
        """Return the id of the first call that has no result yet, of this tool if it is known."""
        blocks = [one for said in self.messages[-2:] for one in said["content"]]
        answered = {one.get("tool_use_id") for one in blocks}
        calls = [one for one in blocks if one["type"] == "tool_use" and one["id"] not in answered]
        return next((one["id"] for one in calls if tool in (None, one["name"])), None)

    def _say(self, index: int, role: str, parts: list[Any]) -> None:
        odd = list[Any]()
        blocks = [*transcripts.blocks_in(parts, f"call_{index}", odd.append)]
        if odd or not blocks:
            self.refuse(index, LOST)
        self.say(role, blocks)
