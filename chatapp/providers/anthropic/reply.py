"""Put a streamed reply together, block by block."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import condense
from chatapp.agent import events

UNPARSED = "_unparsed"

Data = Mapping[str, Any]


class Reply:
    """What one stream has said so far; each event's ``type`` names the method that takes it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.usage = condense.Usage()
        self.started = False
        self.shown = False
        self.finished = False
        self.stop_reason = ""
        self.stop_details: Data = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}

    def take(self, event: Data) -> Iterator[events.StreamEvent]:
        """Take one event in and yield what there is to tell of it; unknown ones say nothing."""
        taker = _TAKERS.get(event.get("type", ""))
        return iter(()) if taker is None else taker(self, event)

    @property
    def content(self) -> tuple[condense.Block, ...]:
        """The blocks so far; blank text, which the API would not take back, is left out."""
        blocks = (self._block(index) for index in sorted(self._blocks))
        return tuple(block for block in blocks if not _is_blank(block))

    def completed(self) -> events.ReplyCompleted:
        """Return the whole reply as an event."""
        return events.ReplyCompleted(self.content, self.stop_reason, self.usage)

    def _message_start(self, event: Data) -> Iterator[events.StreamEvent]:
        self.started = True
        yield self._count(event["message"].get("usage") or {})

    def _content_block_start(self, event: Data) -> Iterator[events.StreamEvent]:
        block = dict(event["content_block"])
        self._blocks[event["index"]] = block
        if block["type"] == "tool_use":
            self.shown = True
            yield events.ToolUseStarted(block["id"], block["name"])
        elif block["type"] == "text" and block.get("text"):
            self.shown = True
            yield events.TextStreamed(block["text"])

    def _content_block_delta(self, event: Data) -> Iterator[events.StreamEvent]:
        index, delta = event["index"], event["delta"]
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        match delta:
            case {"type": "text_delta", "text": str(text)} if text:
                block["text"] = block.get("text", "") + text
                self.shown = True
                yield events.TextStreamed(text)
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._inputs.setdefault(index, []).append(piece)
            case {"type": "thinking_delta", "thinking": str(text)}:
                block["thinking"] = block.get("thinking", "") + text
            case {"type": "signature_delta", "signature": str(signature)}:
                block["signature"] = signature
            case {"type": "citations_delta", "citation": citation}:
                block["citations"] = [*(block.get("citations") or ()), citation]

    def _message_delta(self, event: Data) -> Iterator[events.StreamEvent]:
        delta = event.get("delta") or {}
        self.stop_reason = delta.get("stop_reason") or self.stop_reason
        self.stop_details = delta.get("stop_details") or self.stop_details
        yield self._count(event.get("usage") or {})

    def _message_stop(self, _event: Data) -> Iterator[events.StreamEvent]:
        self.finished = True
        return iter(())

    def _count(self, usage: Data) -> events.UsageReported:
        """Replace the numbers that are given: those of a stream are totals, not increments."""

        def number(key: str, before: int) -> int:
            value = usage.get(key)
            return before if value is None else int(value)

        self.usage = condense.Usage(
            input=number("input_tokens", self.usage.input),
            output=number("output_tokens", self.usage.output),
            cache_read=number("cache_read_input_tokens", self.usage.cache_read),
            cache_write=number("cache_creation_input_tokens", self.usage.cache_write),
        )
        return events.UsageReported(self.usage)

    def _block(self, index: int) -> condense.Block:
        block = self._blocks[index]
        if index in self._inputs:
            block = {**block, "input": _parse("".join(self._inputs[index]))}
        if block["type"] in {"text", "tool_use"}:
            block = {key: value for key, value in block.items() if value is not None}
        return condense.block_from_api(block)


_TAKERS: dict[str, Callable[[Reply, Data], Iterator[events.StreamEvent]]] = {
    "message_start": Reply._message_start,  # noqa: SLF001 - the class's own table
    "content_block_start": Reply._content_block_start,  # noqa: SLF001
    "content_block_delta": Reply._content_block_delta,  # noqa: SLF001
    "message_delta": Reply._message_delta,  # noqa: SLF001
    "message_stop": Reply._message_stop,  # noqa: SLF001
}


def _is_blank(block: condense.Block) -> bool:
    return isinstance(block, condense.TextBlock) and not block.text.strip()


def _parse(text: str) -> dict[str, Any]:
    """Return a tool call's input; text that is no JSON object is kept under ``_unparsed``."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {UNPARSED: text}
    return value if isinstance(value, dict) else {UNPARSED: text}
