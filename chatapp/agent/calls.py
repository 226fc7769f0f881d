"""One call to a model: listened to, and accounted for however it ends."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence

import condense
from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.finishing import finish
from chatapp.agent.ports import (
    CallOpening,
    CallRecord,
    Draft,
    Journal,
    ModelRequest,
    Provider,
)


class _Block:
    """A block of a reply while it is written."""

    def __init__(self, type_: str, names: Mapping[str, str]) -> None:
        self.type = type_
        self.names = names
        self.pieces: list[str] = []

    @property
    def text(self) -> str:
        """What was written of it; joined once, and then only what is new."""
        self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0]

    def to_json(self) -> dict[str, str]:
        """Return the block so far."""
        return {"type": self.type, **self.names, "text": self.text}


class Call:
    """A reply while it is written; ``reply`` is set once it is whole."""

    def __init__(
        self,
        provider: Provider,
        request: ModelRequest,
        journal: Journal,
        *,
        sent: Sequence[condense.Message] = (),
        attempt_id: str = "",
        step: int = 0,
    ) -> None:
        """Take who is asked what, and where it is accounted for.

        ``sent`` is the part of the conversation that the request shows, ``attempt_id`` names the
        attempt to condense for which it is made, and ``step`` is its place in the turn.
        """
        self.provider = provider
        self.request = request
        self.journal = journal
        self.sent = sent
        self.attempt_id = attempt_id
        self.step = step
        self.number = 0
        self.reply: events.ReplyCompleted | None = None
        self.usage = condense.Usage()
        self._started = time.monotonic()
        self._written: list[_Block] = []

    async def _open(self, wait: float = 0) -> None:
        self.usage = condense.Usage()
        self._written.clear()
        self._started = time.monotonic() + wait
        purpose, step = self.request.purpose, self.step
        opening = CallOpening(purpose, self.sent, self.attempt_id, step, wait)

        async def open_it() -> None:
            self.number = await self.journal.open_call(opening)

        try:
            await finish(open_it())
        except asyncio.CancelledError:
            number, self.number = self.number, 0
            await finish(self.journal.withdraw_call(number))
            raise

    @property
    def partial(self) -> tuple[condense.Block, ...]:
        """What is worth keeping of a reply that broke off."""
        text = "".join(block.text for block in self._written if block.type == "text").strip()
        return (condense.TextBlock(text),) if text else ()

    def draft(self) -> Draft:
        """Return what was written so far, as it can be stored."""
        return Draft([block.to_json() for block in self._written], self.usage)

    async def listen(self) -> AsyncIterator[events.StreamEvent]:
        """Yield what the provider says; a try that is made again is accounted for first.

        Raises what the provider raises, and ProviderError where the reply has no end.
        """
        await self._open()
        async for event in self.provider.stream(self.request):
            match event:
                case events.ReplyCompleted(usage=usage):
                    self.reply, self.usage = event, usage
                case events.UsageReported(usage):
                    self.usage = usage
                case events.TextStreamed(text):
                    self._write("text", text)
                case events.OutputStreamed(text):
                    self._write("tool_use" if self._calls_tool else "thinking", text)
                case events.ToolUseStarted(id, name):
                    self._write("tool_use", "", {"id": id, "name": name})
                case events.RetryScheduled(reason, seconds):
                    await finish(self.account(reason))
                    await self._open(seconds)
            yield event
        if self.reply is None:
            raise ProviderError("The stream ended before the reply was complete.")

    @property
    def _calls_tool(self) -> bool:
        return bool(self._written) and self._written[-1].type == "tool_use"

    def _write(self, type_: str, text: str, names: Mapping[str, str] | None = None) -> None:
        """Take in what was written; a block of another kind begins a new one."""
        begins = not self._written or names is not None or self._written[-1].type != type_
        if begins:
            self._written.append(_Block(type_, names or {}))
        self._written[-1].pieces.append(text)
        self.journal.keep_draft(self.number, self.draft, at_once=begins)

    async def account(self, error: str = "") -> None:
        """Put into the accounts what came of a call that left no message."""
        if self.number:
            await self.journal.record_call(self.record(error))

    def record(self, error: str = "") -> CallRecord:
        """Return what goes into the accounts."""
        return CallRecord(
            purpose=self.request.purpose,
            usage=self.usage,
            seconds=max(0.0, time.monotonic() - self._started),
            number=self.number,
            error=error,
            is_whole=self.reply is not None,
            streamed="".join(block.text for block in self._written),
            sent=self.sent,
            attempt_id=self.attempt_id,
        )
