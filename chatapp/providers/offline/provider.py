"""The built-in model as a provider: it streams words and counts tokens as others do."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow
from chatapp.agent.ports import Model, ModelRequest, Purpose
from chatapp.providers import request_bytes
from chatapp.providers.offline.answer import answer
from chatapp.providers.offline.summary import summarise

# Some 1,500 words a second: quick, and slow enough to be seen to stream.
DELAY_SECONDS = 0.003
WORDS_AT_ONCE = 5

_GROUP = re.compile(rf"(?:\S+\s*){{1,{WORDS_AT_ONCE}}}|\s+")
_counter = condense.CachedCounter(condense.PromptCounter())


class OfflineProvider:
    """Answers from the conversation and the read-only tools; the same to the same request."""

    def __init__(
        self,
        model: Model,
        *,
        delay: float = DELAY_SECONDS,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        **_given: object,
    ) -> None:
        """Answer as ``model``, waiting ``delay`` seconds between groups of words."""
        self.model = model
        self._delay = delay
        self._sleep = sleep

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the prompt's size, the same number that a call reports as usage."""
        return (await asyncio.to_thread(self._read, request))[0]

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield a reply in groups of words; raise ContextOverflow as a real provider does."""
        prompt, sent = await asyncio.to_thread(self._read, request)
        yield sent
        window = self.model.context_window
        if prompt > window:
            words = f"prompt is too long: {prompt} tokens > {window} maximum"
            raise ContextOverflow(words, status=400, details=words)
        yield events.UsageReported(condense.Usage(input=prompt))
        limit = max(1, min(self.model.max_output, window - prompt))
        content, reason = await asyncio.to_thread(_reply, request, limit)
        for block in content:
            match block:
                case condense.TextBlock(text):
                    for group in _GROUP.findall(text):
                        await self._sleep(self._delay)
                        yield events.TextStreamed(group)
                case condense.ToolUseBlock(id_, name):
                    yield events.ToolUseStarted(id_, name)
        usage = condense.Usage(
            input=prompt, output=sum([_counter.count((one,)) for one in content])
        )
        yield events.UsageReported(usage)
        yield events.ReplyCompleted(content, reason, usage)

    def _read(self, request: ModelRequest) -> tuple[int, events.SentRequest]:
        """Return the size of a prompt, and its bytes for the record; they are not sent."""
        tools = [spec.to_api() for spec in request.tools]
        before = {
            "model": self.model.name,
            "max_tokens": self.model.max_output,
            "system": request.system,
            "tools": tools,
        }
        head, tail = request_bytes.frame(before, {})
        fragments = [request_bytes.encode(message.to_api()) for message in request.messages]
        sent = request_bytes.join(head, request.messages, fragments, tail)
        told = json.dumps(tools) if tools else ""
        parts = [request.system, told, *[message.content for message in request.messages]]
        return sum(map(_counter.count, parts)), sent


def _reply(request: ModelRequest, limit: int) -> tuple[tuple[condense.Block, ...], str]:
    """Return the reply to a request, cut at ``limit`` tokens, and its stop reason."""
    call = None
    if request.purpose is Purpose.SUMMARY:
        text = summarise(request.messages, _counter.count)
    else:
        found = answer(request.messages, {spec.name for spec in request.tools})
        text, call = found.text, found.call
    content: tuple[condense.Block, ...] = (condense.TextBlock(text),) if text else ()
    if _counter.count(content) > limit:
        return _cut(text, limit), "max_tokens"
    if call is None:
        return content, "end_turn"
    # No other call has this id, also where the same question is asked once more.
    history = json.dumps([[one.id, one.to_api()] for one in request.messages], default=str)
    id_ = f"offline_{hashlib.blake2b(history.encode(), digest_size=8).hexdigest()}"
    return (*content, replace(call, id=id_)), "tool_use"


def _cut(text: str, limit: int) -> tuple[condense.TextBlock]:
    """Return the beginning of the text that takes at most ``limit`` tokens, in whole words."""
    words = re.findall(r"\s*\S+", text)
    keep = len(words)
    while True:
        cut = (condense.TextBlock("".join(words[:keep])),)
        if keep <= 1 or (tokens := _counter.count(cut)) <= limit:
            return cut
        keep = max(1, min(keep - 1, keep * limit // tokens))
