"""Streamed replies, put together chunk by chunk, whatever a server sends."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import condense
from chatapp.agent import events
from chatapp.providers import request_bytes
from chatapp.providers.reasoning import Form
from chatapp.providers.sdk_provider import LONGEST_NAME, LONGEST_REASON, StreamedReply, as_tokens

Data = Mapping[Any, Any]

_REASONS = {
    "stop": "end_turn",
    "eos": "end_turn",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "max_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
    "safety": "refusal",
}
# Servers have two names for the model's reasoning.
_REASONING = ("reasoning_content", "reasoning")
# Others put it into the content, between tags.
OPENING, CLOSING = "<think>", "</think>"


@dataclass(slots=True)
class _Text:
    """A block of "text" or "thinking" while it is written."""

    kind: str
    pieces: list[str] = field(default_factory=list)

    def block(self) -> condense.Block | None:
        text = "".join(self.pieces)
        if not text.strip():
            return None
        if self.kind == "text":
            return condense.TextBlock(text)
        return condense.OpaqueBlock({"type": "thinking", "thinking": text.strip("\n")})


@dataclass(slots=True)
class _Call:
    """A tool call while it is written."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def goes_on(self, name: str) -> bool:
        """Whether more may be said of it under its name: its arguments are no whole object yet."""
        if name != self.name or not self.pieces:
            return name == self.name
        ends = self.pieces[-1].rstrip().endswith("}")
        return not ends or request_bytes.UNPARSED in request_bytes.decode_input(
            "".join(self.pieces)
        )

    def block(self) -> condense.Block | None:
        if not self.name:
            return None
        input_ = request_bytes.decode_input("".join(self.pieces))
        return condense.ToolUseBlock(self.id, self.name, input_, self.extra)


class Reply(StreamedReply):
    """What one stream has said so far."""

    def __init__(self) -> None:
        super().__init__()
        self._tags = ThinkTags()
        self._written: list[_Text | _Call] = []
        self._calls: dict[object, _Call] = {}
        self._form = Form()

    def take(self, chunk: object) -> Iterator[events.StreamEvent]:
        """Take one chunk in and yield what there is to tell of it; anything odd says nothing."""
        if not isinstance(chunk, Mapping):
            self.finished = self.finished or (self.started and chunk == request_bytes.DONE)
            return
        if isinstance(chunk.get("choices"), list):
            if not self.started and isinstance(name := chunk.get("id"), str):
                yield events.CallDescribed({"reply_id": name[:LONGEST_NAME]})
            self.started = True
        match chunk.get("choices"):
            case [{"delta": dict(said), **choice}, *_] | [{"message": dict(said), **choice}, *_]:
                yield from self._said(said)
                self._end(choice.get("finish_reason"))
            case [{"finish_reason": str(reason)}, *_]:
                self._end(reason)
        if usage := _usage(chunk):
            self.usage = usage
            yield events.UsageReported(usage)

    def end(self) -> Iterator[events.StreamEvent]:
        """Take in that nothing more comes, and yield what was held back."""
        for kind, text in self._tags.end():
            yield from self._write(kind, text)

    def completed(self) -> events.ReplyCompleted:
        """Return the whole reply as an event."""
        made = (one.block() for one in self._written)
        content = tuple(block for block in made if block is not None)
        reason = self.stop_reason or "end_turn"
        if reason == "end_turn" and any(isinstance(one, condense.ToolUseBlock) for one in content):
            reason = "tool_use"
        return events.ReplyCompleted(content, reason, self.usage, self._form.form)

    def _end(self, reason: object) -> None:
        if isinstance(reason, str) and reason:
            self.finished = True
            self.stop_reason = _REASONS.get(reason.lower(), reason[:LONGEST_REASON])

    def _said(self, said: Data) -> Iterator[events.StreamEvent]:
        self._form.take(said)
        for name in _REASONING:
            if isinstance(thought := said.get(name), str) and thought:
                yield from self._write("thinking", thought)
                break
        content = said.get("content")
        if isinstance(content, str):
            for kind, text in self._tags.take(content):
                yield from self._write(kind, text)
        for part in content if isinstance(content, list) else ():
            yield from self._part(part)
        if isinstance(refusal := said.get("refusal"), str):
            yield from self._write("text", refusal)
        calls = said.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                yield from self._call(call)

    def _part(self, part: object) -> Iterator[events.StreamEvent]:
        """Take in a piece of content as some servers send it, thinking apart from text."""
        match part:
            case {"type": "text", "text": str(text)}:
                yield from self._write("text", text)
            case {"type": "thinking", "thinking": str(text)}:
                yield from self._write("thinking", text)
            case {"type": "thinking", "thinking": [*inner]}:
                texts = (one.get("text") for one in inner if isinstance(one, Mapping))
                thought = "".join(one for one in texts if isinstance(one, str))
                yield from self._write("thinking", thought)

    def _write(self, kind: str, text: str) -> Iterator[events.StreamEvent]:
        if not text:
            return
        last = self._written[-1] if self._written else None
        if not isinstance(last, _Text) or last.kind != kind:
            last = _Text(kind)
            self._written.append(last)
        goes_on = any(map(str.strip, last.pieces))
        last.pieces.append(text)
        if kind == "text":
            self.shown = True
            yield events.TextStreamed(text)
        elif goes_on:
            yield events.ThinkingStreamed(text)
        elif text.strip():
            # Blank thinking is none.
            yield events.ThinkingStarted()
            yield events.ThinkingStreamed("".join(last.pieces).lstrip("\n"))

    def _call(self, said: Data) -> Iterator[events.StreamEvent]:
        """Take in a piece of a tool call: its name once, its arguments piece by piece."""
        if not isinstance(function := said.get("function"), Mapping):
            return
        call = self._find(said)
        if isinstance(extra := said.get("extra_content"), Mapping):
            call.extra["extra_content"] = dict(extra)
        match function:
            case {"name": str(name)} if name and not call.name:
                call.name = name
                self.shown = True
                yield events.ToolUseStarted(call.id, name)
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):
            arguments = json.dumps(arguments)
        if isinstance(arguments, str) and arguments:
            call.pieces.append(arguments)
            yield events.OutputStreamed(arguments)

    def _find(self, said: Data) -> _Call:
        """Return the call a piece belongs to; one with another id at the same place is another.

        A piece without a number belongs to its id, or the last call. Some servers say the name with
        every piece: it is another call once the last one is whole.
        """
        given, place = said.get("id"), said.get("index")
        id_ = given if isinstance(given, str) else ""
        if type(place) is not int:
            last = next(reversed(self._calls), 0)
            place = id_ or last
            match said.get("function"):
                case {"name": str(name)} if name and not id_:
                    known = self._calls.get(last)
                    place = last if known and known.goes_on(name) else len(self._calls)
        call = self._calls.get(place)
        if call is None or (id_ and call.id != id_):
            call = _Call(id_ or f"call_{uuid.uuid4().hex[:24]}")
            self._calls[place] = call
            self._written.append(call)
        return call


def _usage(chunk: Mapping[Any, Any]) -> condense.Usage | None:
    """Return what a chunk reports as used, None where it says nothing of that.

    What was read from the cache, and written to it, is part of the prompt's number.
    """
    groq = chunk.get("x_groq")
    for given in (chunk.get("usage"), groq.get("usage") if isinstance(groq, Mapping) else None):
        if isinstance(given, Mapping):
            details = given.get("prompt_tokens_details")
            details = details if isinstance(details, Mapping) else {}
            prompt = as_tokens(given.get("prompt_tokens")) or 0
            read = min(prompt, as_tokens(details.get("cached_tokens")) or 0)
            written = min(prompt - read, as_tokens(details.get("cache_write_tokens")) or 0)
            output = as_tokens(given.get("completion_tokens")) or 0
            if prompt or output:
                return condense.Usage(prompt - read - written, output, read, written)
    return None


class ThinkTags:
    """Tells thinking from text as it is streamed, where it stands at the beginning of a reply."""

    def __init__(self) -> None:
        self._held = ""
        # "" until it is known what the reply begins with.
        self._kind = ""

    def take(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield pieces of "thinking" and of "text"; what may become a tag is held back."""
        self._held += text
        if not self._kind:
            begun = self._held.lstrip()
            if begun.startswith(OPENING):
                self._kind, self._held = "thinking", begun.removeprefix(OPENING)
            elif begun and not OPENING.startswith(begun):
                self._kind = "text"
        if self._kind == "thinking":
            thought, closed, rest = self._held.partition(CLOSING)
            # Its end may be the beginning of the closing tag.
            sizes = () if closed else range(min(len(thought), len(CLOSING) - 1), 0, -1)
            kept = next((size for size in sizes if CLOSING.startswith(thought[-size:])), 0)
            self._held = rest if closed else thought[len(thought) - kept :]
            if thought := thought[: len(thought) - kept]:
                yield "thinking", thought
            self._kind = "after" if closed else self._kind
        if self._kind == "after":
            self._held = self._held.lstrip()
            self._kind = "text" if self._held else "after"
        if self._kind == "text" and self._held:
            yield "text", self._held
            self._held = ""

    def end(self) -> Iterator[tuple[str, str]]:
        """Yield what was held back to the end, which is no tag after all."""
        if self._held:
            yield ("thinking" if self._kind == "thinking" else "text"), self._held
        self._held = ""
