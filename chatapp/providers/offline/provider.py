"""A stand-in for a model that needs no network and no key, and says plainly what it is."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow
from chatapp.agent.provider import Model, ModelRequest, Purpose, SentRequest
from chatapp.providers import wire
from chatapp.providers.offline.chat import compose
from chatapp.providers.offline.reading import read
from chatapp.providers.offline.summary import summarise

# Some 1,500 words a second: quick, and slow enough to be seen to stream.
DELAY_SECONDS = 0.003
WORDS_AT_ONCE = 5

_GROUP = re.compile(rf"(?:\S+\s*){{1,{WORDS_AT_ONCE}}}|\s+")
_counter = condense.CachedCounter(condense.PromptCounter())


@dataclass(frozen=True, slots=True)
class Written:
    """A composed reply: its text, at most one tool call, and what it takes in tokens."""

    text: str
    call: condense.ToolUseBlock | None
    tokens: int
    stop_reason: str

    @property
    def content(self) -> tuple[condense.Block, ...]:
        """The reply as blocks."""
        text = (condense.TextBlock(self.text),) if self.text else ()
        return text if self.call is None else (*text, self.call)


class OfflineProvider:
    """Answers from the conversation and the read-only tools; the same to the same request."""

    def __init__(
        self,
        model: Model,
        *,
        api_key: str = "",
        base_url: str = "",
        guard: object = None,
        delay: float = DELAY_SECONDS,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Answer as ``model``, waiting ``delay`` seconds between groups of words."""
        del api_key, base_url, guard
        self._model = model
        self._delay = delay
        self._sleep = sleep
        self._fragments = wire.Kept(lambda message: wire.encode(message.to_api()))

    @property
    def model(self) -> Model:
        """The model this stands in for."""
        return self._model

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the prompt's size, which is also what a call reports as used."""
        return await asyncio.to_thread(count_prompt, request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield a reply in groups of words; raise ContextOverflow as a real provider does."""
        prompt = await asyncio.to_thread(count_prompt, request)
        await request.observer.sending(await asyncio.to_thread(self._written, request))
        window = self._model.context_window
        if prompt > window:
            said = f"prompt is too long: {prompt} tokens > {window} maximum"
            raise ContextOverflow(said, status=400, details=said)
        yield events.UsageReported(condense.Usage(input=prompt))
        limit = max(1, min(self._model.max_output, window - prompt))
        reply = await asyncio.to_thread(write, request, limit)
        for group in _GROUP.findall(reply.text):
            await self._sleep(self._delay)
            yield events.TextStreamed(group)
        if reply.call is not None:
            yield events.ToolUseStarted(reply.call.id, reply.call.name)
        usage = condense.Usage(input=prompt, output=reply.tokens)
        yield events.UsageReported(usage)
        yield events.ReplyCompleted(reply.content, reply.stop_reason, usage)

    def _written(self, request: ModelRequest) -> SentRequest:
        """Return what this was asked, as bytes; they go nowhere."""
        head = {
            "model": self._model.name,
            "max_tokens": self._model.max_output,
            "system": request.system,
            "tools": [spec.to_api() for spec in request.tools],
        }
        fragments = self._fragments.of(request.messages)
        return wire.join(wire.opening(head), request.messages, fragments, wire.ending({}))


def count_prompt(request: ModelRequest) -> int:
    """Return the tokens of system prompt, tools and messages."""
    tools = json.dumps([spec.to_api() for spec in request.tools]) if request.tools else ""
    parts = (request.system, tools, *(message.content for message in request.messages))
    return sum(map(_counter.count, parts))


def write(request: ModelRequest, limit: int) -> Written:
    """Return the reply to a request, cut where it is longer than ``limit`` tokens."""
    if request.purpose is Purpose.SUMMARY:
        text, call = summarise(request.messages, _counter.count), None
    else:
        text, call = _compose(request)
    tokens = _counter.count(text)
    if tokens > limit:
        text = _cut(text, limit, tokens)
        return Written(text, None, _counter.count(text), "max_tokens")
    tokens += _counter.count((call,)) if call else 0
    return Written(text, call, tokens, "tool_use" if call else "end_turn")


def _compose(request: ModelRequest) -> tuple[str, condense.ToolUseBlock | None]:
    step = compose(read(request.messages), {spec.name for spec in request.tools})
    if step.call is None:
        return step.text, None
    return step.text, condense.ToolUseBlock(
        _call_id(request), step.call.name, dict(step.call.input)
    )


def _call_id(request: ModelRequest) -> str:
    """Return an id that no other call has, also when the same question is asked once more."""
    history = [[message.id, message.to_api()] for message in request.messages]
    digest = hashlib.blake2b(json.dumps(history, default=str).encode(), digest_size=8)
    return f"offline_{digest.hexdigest()}"


def _cut(text: str, limit: int, tokens: int) -> str:
    """Return the beginning of the text that takes at most ``limit`` tokens, in whole words."""
    words = [*_words(text)]
    keep = len(words) * limit // tokens
    while keep > 1 and _counter.count("".join(words[:keep])) > limit:
        keep -= max(1, keep // 20)
    return "".join(words[: max(1, keep)]).rstrip()


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in re.finditer(r"\s*\S+", text))
