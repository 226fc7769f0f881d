"""Write a reply as the API does: as one message, or as server-sent events."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.standin.behaviours import Gate, Raw, Reply, Rest
from tests.standin.metering import count_text

GROUP = re.compile(r"\S+\s*(?:\S+\s*){0,2}|\s+")
Event = dict[str, Any]
# The block and the piece of it after which a gate stands; the first piece of a call is empty.
GATES = {"text": ("text", 0), "thinking": ("thinking", 0), "tool_use": ("tool_use", 1)}


@dataclass(frozen=True, slots=True)
class Written:
    """A reply with everything that the server adds: ids, usage, signature."""

    reply: Reply
    id: str
    model: str
    usage: Mapping[str, int]
    signature: str | None
    added: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Mapping[str, Any] | None = None
    factor: float = 1.0

    @property
    def stop_reason(self) -> str:
        """Why the reply ends."""
        return self.reply.stop_reason or ("tool_use" if self.reply.tools else "end_turn")

    @property
    def output_tokens(self) -> int:
        """The tokens of all that was written."""
        return round(self.factor * sum(count_text(json.dumps(block)) for block in self.content))

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks of the whole reply."""
        blocks: list[dict[str, Any]] = []
        if self.reply.thinking:
            signed = {} if self.signature is None else {"signature": self.signature}
            blocks.append({"type": "thinking", "thinking": self.reply.thinking, **signed})
        blocks += [dict(block) for block in self.reply.blocks]
        if self.reply.text:
            blocks.append({"type": "text", "text": self.reply.text})
        for number, call in enumerate(self.reply.tools):
            id_ = call.id or f"toolu_{self.id.removeprefix('msg_')}_{number}"
            blocks.append(
                {"type": "tool_use", "id": id_, "name": call.name, "input": dict(call.input)}
            )
        return blocks

    def message(self) -> dict[str, Any]:
        """Return the reply to a request that does not stream."""
        usage = {**self.usage, "output_tokens": self.output_tokens}
        return self._envelope(self.content, self.stop_reason, usage)

    def events(self) -> Iterator[Event | Gate | Raw | Rest]:
        """Yield the events of a stream; at a gate, the server waits."""
        usage = {**self.usage, "output_tokens": 1}
        if self.reply.hold:
            yield self.reply.hold
        yield {"type": "message_start", "message": self._envelope([], None, usage)}
        broken = self.reply.broken
        if broken and not self.content:
            yield breakage(broken)
            return
        for index, block in enumerate(self.content):
            yield from self._block(index, block)
            if broken and block["type"] == "text":
                return
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": self.stop_reason, "stop_sequence": None},
            "usage": {"output_tokens": self.output_tokens},
            **self.added,
        }
        yield {"type": "message_stop"}

    def _block(self, index: int, block: Mapping[str, Any]) -> Iterator[Event | Gate | Raw | Rest]:
        empty: dict[str, Event] = {
            "text": {"text": ""},
            "thinking": {"thinking": "", **({"signature": ""} if "signature" in block else {})},
            "tool_use": {"input": {}},
            "compaction": {"content": None},
        }
        opening = {**block, **empty.get(block["type"], {})}
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        if index == 0:
            yield {"type": "ping"}
        for number, delta in enumerate(self._deltas(index, block)):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield from after(self.reply, block["type"], number)
            if (block["type"], number) == ("text", 0) and self.reply.broken:
                return
        yield {"type": "content_block_stop", "index": index}

    def _deltas(self, index: int, block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        match block["type"]:
            case "text":
                for group in GROUP.findall(block["text"]):
                    yield {"type": "text_delta", "text": group}
            case "thinking":
                for group in GROUP.findall(block["thinking"]):
                    yield {"type": "thinking_delta", "thinking": group}
                if block.get("signature"):
                    yield {"type": "signature_delta", "signature": block["signature"]}
            case "compaction":
                said = {key: block[key] for key in ("content", "encrypted_content")}
                yield {"type": "compaction_delta", **said}
            case "tool_use":
                call = self.reply.tools[index - len(self.content) + len(self.reply.tools)]
                text = json.dumps(block["input"]) if call.raw is None else call.raw
                half = len(text) // 2
                for piece in ("", text[:half], text[half:]):
                    yield {"type": "input_json_delta", "partial_json": piece}

    def _envelope(
        self, content: list[dict[str, Any]], stop_reason: str | None, usage: Mapping[str, int]
    ) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": dict(usage),
            "diagnostics": self.diagnostics,
        }


def after(reply: Reply, kind: str, number: int) -> Iterator[Event | Gate | Raw | Rest]:
    """Yield what a script says comes after a piece of a block."""
    if reply.pace and kind != "tool_use":
        yield Rest(reply.pace)
    if (kind, number) == ("text", 0):
        yield from reply.extra
    if reply.gate and (kind, number) == GATES[reply.gate_in]:
        yield reply.gate
    if reply.broken and (kind, number) == ("text", 0):
        yield breakage(reply.broken)


def breakage(how: str) -> Event:
    """Return an error event, or the sign that the connection is to be cut."""
    if how == "cut":
        return {"type": "cut"}
    error = {"type": how, "code": None, "message": how.replace("_", " ").capitalize()}
    return {"type": "error", "error": error}
