"""Streamed replies of chat completions, put together chunk by chunk."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import condense
from chatapp.agent import events
from chatapp.agent.tool_arguments import UNPARSED, read_arguments
from chatapp.providers import request_bytes
from chatapp.providers.call_errors import error_in
from chatapp.providers.charges import charged_in, terms_in
from chatapp.providers.formats import at, listed
from chatapp.providers.reasoning import DETAILS, FIELDS, Form
from chatapp.providers.sdk_provider import LONGEST_NAME, LONGEST_REASON, StreamedReply, as_tokens
from chatapp.providers.written_calls import known_name

Data = Mapping[Any, Any]

_REASONS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "completed", "complete", "finished"), "end_turn"),
    **dict.fromkeys(("length", "model_length", "max_length", "max_output_tokens"), "max_tokens"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_call"), "tool_use"),
}
# The fields in which servers have the model's reasoning, and those in which an object has words.
_REASONING = (*FIELDS, "reasoning_text", "thinking", "thinking_blocks", DETAILS)
_WORDS = ("text", "content", "thinking", "reasoning", "summary", "value", "refusal")
_DEEPEST = 4
_ARGUMENTS = ("arguments", "parameters", "input", "args")
# The names of what is counted: prompt, output, read from the cache, written to it, all together.
_COUNTS = (
    ("prompt_tokens", "input_tokens"),
    ("completion_tokens", "output_tokens"),
    ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"),
    ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens"),
    ("total_tokens",),
)
_DETAILS_OF_USAGE = ("prompt_tokens_details", "input_tokens_details")
# Tokens with a price of their own.
_UNLIKE = (
    *("prompt_tokens_details.audio_tokens", "completion_tokens_details.audio_tokens"),
    *("completion_tokens_details.image_tokens", "output_tokens_details.image_tokens"),
    "input_tokens_details.cache_write_tokens_details.ttl_12h_tokens",
)
# Fields of each chunk that say nothing new.
_ON_EACH = {"id", "index", "object", "created", "model", "role", "system_fingerprint"}
_KINDS = {"/9j/": "jpeg", "UklGR": "webp", "R0lGOD": "gif"}
_PICTURE = re.compile(r"data:(image/[\w.+-]+);base64,")
_ADDRESS = re.compile(r"https?://[^<>\s]+")


def _said_in(fields: Data) -> set[Any]:
    return {name for name, value in fields.items() if value}


@dataclass(slots=True)
class _Text:
    """A block of "text" or "thinking" while it is written."""

    kind: str
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Call:
    """A tool call while it is written; ``given`` is the id that the server gave it."""

    id: str
    given: str
    name: str = ""
    is_shown: bool = False
    pieces: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def is_other(self, id_: str, name: str, arguments: str) -> bool:
        """Return True if a piece with a name begins another call."""
        if not name or not self.name:
            return False
        if (id_ and self.given and id_ != self.given) or (name != self.name and self.pieces):
            return True
        is_over = arguments[:1] == "{" and "".join(self.pieces[-1:]).rstrip().endswith("}")
        known = read_arguments("".join(self.pieces)) if is_over else {}
        return bool(known) and UNPARSED not in known and read_arguments(arguments) != known


class OpenAIReply(StreamedReply):
    """The state of one streamed reply."""

    text_field = "content"

    def __init__(self) -> None:
        super().__init__()
        self._written: list[_Text | _Call | condense.ImageBlock] = []
        self._calls: dict[object, _Call] = {}
        self._form = Form()
        self._last: _Call | None = None
        self._choice: object = None
        self._tier: object = None
        self._in_pieces = False
        self._sources: dict[str, str] = {}

    def take(self, chunk: object) -> Iterator[events.StreamEvent]:
        """Take one chunk in and yield the stream events it causes; an odd chunk causes none."""
        if not isinstance(chunk, Mapping):
            is_end = chunk == request_bytes.DONE
            self.started, self.finished = self.started or is_end, self.finished or is_end
            return
        if isinstance(choices := chunk.get("choices"), list):
            if not self.started and isinstance(name := chunk.get("id"), str):
                yield events.CallDescribed({"reply_id": name[:LONGEST_NAME]})
            self.started = True
            for choice in listed(choices):
                # The first of several answers at a time.
                self._choice = choice.get("index") if self._choice is None else self._choice
                self.places.add(as_tokens(choice.get("index")) or 0)
                if choice.get("index") in (self._choice, None):
                    yield from self._said(choice)
                    self._end(choice.get("finish_reason") or choice.get("finishReason"), chunk)
        for name in ("citations", "search_results", "web_search"):
            self._cite(chunk.get(name))
        self._tier = chunk.get("service_tier") or self._tier
        if usage := _usage(chunk):
            if not usage.prompt:
                # Some servers report the prompt at the beginning, and the output at the end.
                output, charged, terms = usage.output, usage.charged, usage.terms
                usage = replace(self.usage, output=output, charged=charged, terms=terms)
            self.usage = replace(usage, terms={**usage.terms, **terms_in([self._tier], ())})
            yield events.UsageReported(self.usage)

    def text_in(self, chunk: Any) -> tuple[object, dict[Any, Any]] | None:
        """Return the number of the choice that grows, and its delta."""
        match chunk:
            case {"choices": [{"delta": {"content": str()} as delta} as choice], **others}:
                said = {*_said_in(delta), *_said_in(choice), *_said_in(others)} - _ON_EACH
                return (choice.get("index"), delta) if said == {"content", "delta"} else None
        return None

    def end(self) -> Iterator[events.StreamEvent]:
        """Yield the rest at the stream's end: text that was held back, and the sources."""
        for call in self._calls.values():
            yield from self._start(call)
        for number, (url, title) in enumerate(self._sources.items(), 1):
            line = f"{number}. [{title}](<{url}>)"
            yield from self._write("text", f"\n{line}" if number > 1 else f"\n\n{line}")
        yield from super().end()

    def blocks(self) -> Iterator[condense.Block]:
        """Yield texts, thinking, calls and pictures in their order."""
        for one in self._written:
            match one:
                case _Call(name=name) if name:
                    given = read_arguments("".join(one.pieces))
                    known = known_name(name, self.tools)
                    yield condense.ToolUseBlock(one.id, known, given, one.extra)
                case _Text(kind, pieces) if (text := "".join(pieces)).strip():
                    yield condense.TextBlock(text) if kind == "text" else self.thought(text)
                case condense.ImageBlock():
                    yield one

    def _end(self, reason: object, chunk: Data) -> None:
        if isinstance(reason, str) and reason.lower() not in {"", "null", "none"}:
            self.finished = error_in(chunk) is None
            self.stop_reason = _REASONS.get(reason.lower(), reason.lower()[:LONGEST_REASON])

    def _said(self, choice: Data) -> Iterator[events.StreamEvent]:
        delta, message = (next(iter(listed([choice.get(k)])), {}) for k in ("delta", "message"))
        if delta or not (self._in_pieces and self._written):
            said = delta or message
        else:
            # The words of the pieces come again as a whole.
            said = {"tool_calls": message.get("tool_calls")}
        self._in_pieces = self._in_pieces or bool(delta)
        self.form = self._form.take(said)
        thoughts = map(_words, map(said.get, _REASONING))
        yield from self._write("thinking", next(filter(None, thoughts), ""))
        for content in (
            *map(said.get, ("content", "refusal", "images")),
            choice.get("text"),
            *[one.get("transcript") for one in listed([said.get("audio")])],
        ):
            for part in content if isinstance(content, list) else [content]:
                yield from self._part(part)
        self._cite(said.get("annotations"))
        legacy = [{"index": 0, "function": one} for one in listed(said.get("function_call"))]
        for call in (*listed(said.get("tool_calls")), *legacy):
            if isinstance(function := call.get("function") or call.get("custom") or call, Mapping):
                yield from self._call(call, function)

    def _part(self, part: object) -> Iterator[events.StreamEvent]:
        """Take in a piece of content as some servers send it, thinking apart from text."""
        match part:
            case {"type": "thinking" | "reasoning"}:
                yield from self._write("thinking", _words(part))
            case str() | {"text": _} | {"refusal": _}:
                yield from self._write("text", _words(part))
            case {"image_url": {"url": str(url)} | str(url)}:
                if found := _PICTURE.match(url):
                    source = {"type": "base64", "media_type": found[1], "data": url[found.end() :]}
                    self._written.append(condense.ImageBlock(source))
                else:
                    self._cite([url])
            case {"b64_json": str(data)} | {"source": {"data": str(data)}}:
                kind = next((one for sign, one in _KINDS.items() if data.startswith(sign)), "png")
                yield from self._part({"image_url": f"data:image/{kind};base64,{data}"})

    def _cite(self, sources: object) -> None:
        """Keep the addresses that an answer rests on."""
        for source in sources if isinstance(sources, list) else ():
            match source:
                case {"url_citation": {"url": str(url), **more}} | {"url": str(url), **more}:
                    title = re.sub(r"[\[\]\\\s]+", " ", str(more.get("title") or "")).strip()
                case _:
                    url, title = str(source), ""
            if _ADDRESS.fullmatch(url):
                self._sources[url] = title or self._sources.get(url, url)

    def _write(self, kind: str, text: str) -> Iterator[events.StreamEvent]:
        if not text:
            return
        last = self._written[-1] if self._written else None
        if not isinstance(last, _Text) or last.kind != kind:
            last = _Text(kind)
            self._written.append(last)
        last.pieces.append(text)
        yield from self.say(text) if kind == "text" else self.think(text)

    def _call(self, said: Data, function: Data) -> Iterator[events.StreamEvent]:
        """Take in a piece of a tool call: its name, its arguments piece by piece."""
        name = str(function.get("name") or "")
        given = next(filter(None, map(function.get, _ARGUMENTS)), None)
        arguments = given if isinstance(given, str) else json.dumps(given) if given else ""
        call = self._find(said, name, arguments)
        if len(arguments) >= len(call.pieces) and arguments.startswith("{"):
            # Some servers send all that there is so far, each time.
            so_far = "".join(call.pieces)
            arguments = arguments.removeprefix(so_far if so_far.startswith("{") else "")
        if isinstance(extra := said.get("extra_content"), Mapping):
            call.extra["extra_content"] = dict(extra)
        is_known = known_name(call.name, self.tools) in self.tools
        if not call.name or name.startswith(call.name):
            call.name = name
        elif not (call.pieces or is_known):
            call.name += name
        call.pieces += [arguments] if arguments else []
        if call.is_shown and arguments:
            yield events.OutputStreamed(arguments)
        elif call.pieces or known_name(call.name, self.tools) in self.tools:
            yield from self._start(call)

    def _start(self, call: _Call) -> Iterator[events.StreamEvent]:
        """Yield the start of a call, once its name is known."""
        if call.name and not call.is_shown:
            call.is_shown = self.shown = True
            self.thinks = False
            yield events.ToolUseStarted(call.id, known_name(call.name, self.tools))
            if call.pieces:
                yield events.OutputStreamed("".join(call.pieces))

    def _find(self, said: Data, name: str, arguments: str) -> _Call:
        """Return the call of a piece; without a number it belongs to its id, or the last call."""
        given, place = said.get("id"), None
        id_ = given if isinstance(given, str) else ""
        with suppress(TypeError, ValueError, OverflowError):
            place = int(float(said.get("index")))  # type: ignore[arg-type]
        key = place if place is not None else id_
        call = self._calls.get(key, None if name and id_ else self._last if place is None else None)
        if call is None or call.is_other(id_, name, arguments):
            is_new = id_ and all(one.id != id_ for one in self._written if isinstance(one, _Call))
            call = _Call(id_ if is_new else f"call_{uuid.uuid4().hex[:24]}", id_)
            self._written.append(call)
        self._calls[call.id if key == "" else key] = self._last = call
        return call


def _words(said: object, depth: int = _DEEPEST) -> str:
    """Return a text, the words of an object that has them in a usual field, or those of a list."""
    match said:
        case str():
            return said
        case list() if depth:
            return "".join([_words(one, depth - 1) for one in said])
        case Mapping() if depth:
            found = (_words(said.get(name), depth - 1) for name in _WORDS)
            return next(filter(None, found), "")
    return ""


def _usage(chunk: Data) -> condense.Usage | None:
    """Return the usage that a chunk or a choice of it reports, None if neither reports any."""
    holders = listed([chunk, chunk.get("x_groq"), *listed(chunk.get("choices"))])
    found = (read_usage(given) for one in holders if (given := one.get("usage")))
    return next((usage for usage in found if usage.total), None)


def read_usage(given: object) -> condense.Usage:
    """Return the usage in a report of either of OpenAI's APIs, or of one that resembles them.

    Tokens read from the cache and written to it are part of the prompt's number, unless they are
    more. Some vendors count thoughts in the total alone.
    """
    reports = listed([given])
    inner = listed([one.get(name) for one in reports for name in _DETAILS_OF_USAGE])
    facts = {name: one for each in (*reports, *inner) for name, one in each.items() if one}
    prompt, output, cached, stored, total = (
        next(filter(None, map(as_tokens, map(facts.get, names))), 0) for names in _COUNTS
    )
    if cached + stored > prompt:
        prompt += cached + stored
    output = max(output, total - prompt) if prompt else output
    unlike = [(path, at(one, path)) for one in reports for path in _UNLIKE]
    return condense.Usage(
        *(prompt - cached - stored, output, cached, stored),
        charged=charged_in(facts),
        terms=terms_in((), [(path.rpartition(".")[2], count) for path, count in unlike]),
    )
