"""Write a reply as chat completions do: whole, or as chunks of a stream."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.standin.behaviours import Gate, Raw, Reply, Rest
from tests.standin.metering import count_text
from tests.standin.writing import GROUP, after, breakage

REASONS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}
REASONS |= {"refusal": "content_filter"}

Chunk = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply with everything that the server adds; ``usage`` is the prompt's share.

    What the model thinks is in a ``field`` of its own, which servers call by several names.
    """

    reply: Reply
    id: str
    model: str
    usage: Mapping[str, int]
    tells_usage: bool = True
    field: str = "reasoning_content"

    @property
    def finish_reason(self) -> str:
        """Why the reply ends."""
        reason = self.reply.stop_reason or ("tool_use" if self.reply.tools else "end_turn")
        return REASONS.get(reason, reason)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The tool calls of the whole reply."""
        return [
            {
                "id": call.id or f"call_{self.id.removeprefix('chatcmpl-')}_{number}",
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(dict(call.input)) if call.raw is None else call.raw,
                },
            }
            for number, call in enumerate(self.reply.tools)
        ]

    def message(self) -> dict[str, Any]:
        """Return the reply to a request that does not stream."""
        said = {"role": "assistant", "content": self.reply.text or None}
        said |= {"tool_calls": self.calls} if self.calls else {}
        choice = {"index": 0, "message": said, "finish_reason": self.finish_reason}
        return {**self._chunk([choice], "chat.completion"), "usage": self._usage()}

    def chunks(self) -> Iterator[Chunk | Gate | Raw | Rest]:
        """Yield the chunks of a stream; at a gate, the server waits."""
        if self.reply.hold:
            yield self.reply.hold
        broken = self.reply.broken
        if broken and not (self.reply.text or self.calls or self.reply.thinking):
            yield breakage(broken)
            return
        yield self._delta({"role": "assistant", "content": ""})
        for number, group in enumerate(GROUP.findall(self.reply.thinking)):
            yield self._delta(self._thought(group))
            yield from after(self.reply, "thinking", number)
        for number, group in enumerate(GROUP.findall(self.reply.text)):
            yield self._delta({"content": group})
            yield from after(self.reply, "text", number)
            if broken:
                return
        for number, call in enumerate(self.calls):
            yield from self._call(number, call)
        yield self._delta({}, self.finish_reason)
        if self.tells_usage and self.reply.usage:
            yield {**self._chunk([]), "usage": self._usage()}

    def _thought(self, text: str) -> Chunk:
        if self.field != "reasoning_details":
            return {self.field: text} if self.field else {}
        detail = {"type": "reasoning.text", "index": 0, "format": "own-v1", "text": text}
        return {"reasoning": text, "reasoning_details": [{**detail, "signature": "ab12"}]}

    def _call(self, number: int, call: Mapping[str, Any]) -> Iterator[Chunk]:
        name, text = call["function"]["name"], call["function"]["arguments"]
        opening = {**call, "index": number, "function": {"name": name, "arguments": ""}}
        yield self._delta({"tool_calls": [opening]})
        half = len(text) // 2
        for piece in (text[:half], text[half:]):
            said = {"index": number, "function": {"arguments": piece}}
            yield self._delta({"tool_calls": [said]})

    def _usage(self) -> dict[str, Any]:
        said = [self.reply.text, self.reply.thinking, *map(json.dumps, self.calls)]
        prompt, output = sum(self.usage.values()), sum(map(count_text, said))
        return {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": self.usage["cache_read_input_tokens"]},
        }

    def _delta(self, delta: Mapping[str, Any], reason: str | None = None) -> Chunk:
        return self._chunk([{"index": 0, "delta": dict(delta), "finish_reason": reason}])

    def _chunk(self, choices: list[Any], kind: str = "chat.completion.chunk") -> Chunk:
        named = {"id": self.id, "object": kind, "created": 0, "model": self.model}
        return {**named, "choices": choices}
