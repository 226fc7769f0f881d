"""Streamed replies of the Messages API, put together block by block."""

import json
import logging
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import condense
from chatapp.agent import events
from chatapp.agent.tool_arguments import read_arguments
from chatapp.providers.call_errors import Undocumented, error_in
from chatapp.providers.charges import charged_in, terms_in
from chatapp.providers.formats import at, listed
from chatapp.providers.sdk_provider import LONGEST_NAME, LONGEST_REASON, StreamedReply, as_tokens
from chatapp.providers.written_calls import known_name

# Blocks whose text, kept under the same name, grows piece by piece.
_TEXTS = ("text", "thinking")
_HOUR = "cache_creation.ephemeral_1h_input_tokens"
# Names in a report of usage by which the API bills, and the parts of it that are the model's own.
_NAMES = ("service_tier", "speed", "inference_geo", "fallback_credit.status.type")
_OWN = ("message", "compaction")
NOTHING = condense.Usage()
MOST_TRANSFORMATIONS, LARGEST_TRANSFORMATION = 100, 1_000

log = logging.getLogger(__name__)


class AnthropicReply(StreamedReply):
    """The state of one streamed reply; each event's ``type`` names the method that takes it."""

    text_field = "text"

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, dict[Any, Any]] = {}
        self._pieces: defaultdict[int, list[str]] = defaultdict(list)
        self._noted: set[str] = set()
        # The number of the block that the server means by a number of its own.
        self._open: dict[str, int] = {}

    def take(self, event: object) -> Iterator[events.StreamEvent]:
        """Take one event in and yield the stream events it causes.

        An event that is unknown or not as documented is skipped and logged; the reply keeps its
        text.
        """
        kind = event.get("type") if isinstance(event, dict) else None
        take = getattr(self, f"_take_{kind}", None)
        if take is None:
            self._note("of an unknown kind")
            return
        try:
            yield from take(event)
        except Undocumented:
            self._note(f"{kind}, not as documented")

    def text_in(self, event: Any) -> tuple[object, dict[Any, Any]] | None:
        """Return the number of the block that grows, and its delta."""
        match event:
            case {"index": int() as index, "delta": {"type": "text_delta", "text": str()} as delta}:
                return index, delta
        return None

    def blocks(self) -> Iterator[condense.Block]:
        """Yield the blocks by their numbers."""
        return map(self._block, sorted(self._blocks))

    def _note(self, what: str) -> None:
        """Log the kind of a skipped event once for each reply, never its content."""
        if what not in self._noted:
            self._noted.add(what)
            log.warning("an event was passed over: %s", what)

    def _take_message_start(self, event: Any) -> Iterator[events.StreamEvent]:
        if self.started:
            raise Undocumented
        self.started = True
        message = event.get("message")
        if isinstance(message, Mapping):
            yield from _described(message)
            message = message.get("usage")
        yield from self._count(message)

    def _take_content_block_start(self, event: Any) -> Iterator[events.StreamEvent]:
        # Some servers leave out a number that is zero.
        match {"index": 0, **event}:
            case {"index": int() | str() as given, "content_block": {"type": str(kind), **block}}:
                told: list[events.StreamEvent] = []
            case _:
                raise Undocumented
        begun = self._blocks.get(self._open.get(str(given), -1), {})
        if kind in _TEXTS and kind == begun.get("type"):
            raise Undocumented
        match kind, block:
            case "tool_use", {"name": str(name)}:
                block["id"] = id_ = self._own_id(block.get("id"))
                one = block.get("input")
                one = read_arguments(one) if isinstance(one, str) else one
                block["input"] = dict(one) if isinstance(one, Mapping) else {}
                block["name"] = name = known_name(name, self.tools)
                told.append(events.ToolUseStarted(id_, name))
            case "tool_use", _:
                raise Undocumented
            case "thinking" | "redacted_thinking", _:
                yield events.ThinkingStarted()
            case ("text", {"text": str(text)}) | ("compaction", {"content": str(text)}):
                told += self.say(text)
        index = self._begin(given, {"type": kind, **block})
        if kind in _TEXTS and isinstance(opening := block.get(kind), str):
            self._pieces[index].append(opening)
        self.shown = self.shown or bool(told)
        yield from told

    def _own_id(self, given: object) -> str:
        """Return the id that a server gave a call; a missing or repeated one becomes a new one."""
        known = {block.get("id") for block in self._blocks.values()}
        is_own = isinstance(given, str) and given and given not in known
        return str(given) if is_own else f"toolu_{uuid.uuid4().hex[:24]}"

    def _begin(self, given: int | str, block: dict[Any, Any]) -> int:
        """Begin a block and return its number; a server may use its own number twice."""
        self.started = True
        self._open[str(given)] = number = len(self._blocks)
        self._blocks[number] = block
        return number

    def _opened(self, given: int | str, kind: str) -> tuple[int, dict[Any, Any]]:
        """Return the block of a piece and its number, which is negative for a new one."""
        # Some servers have text at the place of a thought, or the other way round.
        index = self._open.get(str(given), -1)
        if index < 0 or {kind, self._blocks[index]["type"]} == {*_TEXTS}:
            return -1, {"type": kind}
        return index, self._blocks[index]

    def _take_content_block_delta(self, event: Any) -> Iterator[events.StreamEvent]:
        match {"index": 0, **event}:
            case {"index": int() | str() as given, "delta": {"type": str(kind), **delta}}:
                index, block = self._opened(given, kind.removesuffix("_delta"))
            case _:
                raise Undocumented
        match kind, block["type"], delta:
            case "text_delta", "text", {"text": str(text)} if text:
                index = self._begin(given, block) if index < 0 else index
                self._pieces[index].append(text)
                yield from self.say(text)
            case ("input_json_delta", _, {"partial_json": said}) if "input" in block:
                written = said if isinstance(said, str) else json.dumps(said)
                self._pieces[index].append(written)
                yield events.OutputStreamed(written)
            case "thinking_delta", "thinking", {"thinking": str(piece)} if piece or index >= 0:
                index = self._begin(given, block) if index < 0 else index
                self._pieces[index].append(piece)
                yield events.ThinkingStreamed(piece)
            case "compaction_delta", "compaction", _:
                # It comes whole.
                block.update(delta)
                if isinstance(said := delta.get("content"), str) and said:
                    self.shown = True
                    yield events.TextStreamed(said)
            case "text_delta", "text", {"text": ""}:
                pass
            case "signature_delta", "thinking" | "compaction", {"signature": str(signature)}:
                block["signature"] = signature
            case "citations_delta", "text", {"citation": dict(citation)}:
                block["citations"] = [*listed(block.get("citations")), citation]
            case _:
                raise Undocumented

    def _take_message(self, event: Any) -> Iterator[events.StreamEvent]:
        """Take in an answer that is not streamed."""
        yield from self._take_message_start({"message": event})
        for index, block in enumerate(listed(event.get("content"))):
            yield from self._take_content_block_start({"index": index, "content_block": block})
        yield from self._take_message_delta({**event, "delta": event})

    def _take_message_delta(self, event: Any) -> Iterator[events.StreamEvent]:
        match event.get("delta"):
            case {"stop_reason": str(reason), **delta}:
                self.stop_reason = reason[:LONGEST_REASON]
                self.finished = error_in(event) is None
                details = delta.get("stop_details")
                self.stop_details = details if isinstance(details, Mapping) else self.stop_details
        yield from _described(event)
        yield from self._count(event.get("usage"))

    def _take_message_stop(self, _event: Any) -> Iterator[events.StreamEvent]:
        self.finished = True
        return iter(())

    def _take_content_block_stop(self, _event: Any) -> Iterator[events.StreamEvent]:
        return self.say("", is_last=True)

    def _count(self, usage: object) -> Iterator[events.StreamEvent]:
        """Replace the numbers that are given: those of a stream are totals, not increments."""
        if usage is None:
            return
        if not isinstance(usage, Mapping):
            raise Undocumented
        before, parts = self.usage, listed(usage.get("iterations"))
        # A summary that the API has made on its way is in no total, and may be all there is.
        apart = [self._tokens(one) for one in parts if one.get("type") == "compaction"]
        own = self._tokens(usage, before)
        # Some servers report the prompt at the start, and zeros at the end.
        used = [own if own.prompt or apart else replace(before, output=own.output), *apart]
        first, *others = [one for one in used if one.prompt] or used
        foreign = Counter([str(kind) for one in parts if (kind := one.get("type")) not in _OWN])
        searches = usage.get("server_tool_use")
        counts = {**foreign, **(searches if isinstance(searches, Mapping) else {})}
        self.usage = replace(
            first,
            charged=charged_in(usage) or before.charged,
            terms={**before.terms, **terms_in([at(usage, one) for one in _NAMES], counts.items())},
            beside=tuple(others) or before.beside,
        )
        yield events.UsageReported(self.usage)

    def _tokens(self, usage: Mapping[Any, Any], before: condense.Usage = NOTHING) -> condense.Usage:
        """Return the tokens in a report; missing numbers are those of ``before``."""

        def number(key: str, before: int) -> int:
            value = usage.get(key)
            if value is None:
                return before
            if (counted := as_tokens(value, least=0)) is not None:
                return counted
            self._note(f"usage, {key} is no number of tokens")
            return before

        written = number("cache_creation_input_tokens", before.cache_write)
        return condense.Usage(
            input=number("input_tokens", before.input),
            output=number("output_tokens", before.output),
            cache_read=number("cache_read_input_tokens", before.cache_read),
            cache_write=written,
            cache_hour=min(written, as_tokens(at(usage, _HOUR)) or before.cache_hour),
        )

    def _block(self, index: int) -> condense.Block:
        block, pieces = self._blocks[index], "".join(self._pieces.get(index, ()))
        if (kind := block["type"]) in _TEXTS:
            block = {**block, kind: pieces}
        elif pieces:
            block = {**block, "input": read_arguments(pieces)}
        if kind in {"text", "tool_use"}:
            block = {key: value for key, value in block.items() if value is not None}
        return condense.block_from_api(block)


def _described(event: Mapping[Any, Any]) -> Iterator[events.CallDescribed]:
    """Yield a description of the call if a message's start or end has facts about it."""
    facts: dict[str, Any] = {}
    match event:
        case {"id": str(name)}:
            facts["reply_id"] = name[:LONGEST_NAME]
    match event:
        case {"diagnostics": {"cache_miss_reason": {"type": str(reason), **more}}}:
            facts["cache_miss"] = reason[:LONGEST_NAME]
            missed = as_tokens(more.get("cache_missed_input_tokens"), least=0)
            facts |= {} if missed is None else {"missed_tokens": missed}
    match event:
        case {"input_transformations": [*found]} if found:
            told = [one for one in found[:MOST_TRANSFORMATIONS] if isinstance(one, Mapping)]
            told = [one for one in told if len(json.dumps(one)) <= LARGEST_TRANSFORMATION]
            facts["transformations"] = tuple(told)
    if facts:
        yield events.CallDescribed(facts)
