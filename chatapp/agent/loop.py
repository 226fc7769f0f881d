"""The agent loop: model call, tool calls, results, model call … until nothing is left to do."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow, ProviderError, StepLimitReached
from chatapp.agent.ports import (
    Audience,
    CallRecord,
    ContextKeeper,
    Journal,
    ModelRequest,
    Provider,
    Purpose,
    Toolbox,
    ToolOutcome,
)
from chatapp.agent.prompts import INTERRUPTED_RESULT

# Roo Code, too, gives up after three forced reductions of one request.
FORCED_TRIES = 3

STOPPED, BROKEN_OFF = "stopped", "error"


@dataclass(slots=True)
class Draft:
    """A reply while it is written."""

    started: float
    text: list[str] = field(default_factory=list)
    usage: condense.Usage = field(default_factory=condense.Usage)
    reply: events.ReplyCompleted | None = None

    @property
    def partial(self) -> tuple[condense.Block, ...]:
        """What is worth keeping of a reply that broke off."""
        text = "".join(self.text).strip()
        return (condense.TextBlock(text),) if text else ()


class AgentLoop:
    """Runs one turn of one conversation."""

    def __init__(
        self,
        *,
        provider: Provider,
        toolbox: Toolbox,
        journal: Journal,
        keeper: ContextKeeper,
        audience: Audience,
        system: str,
        step_limit: int,
    ) -> None:
        """Take everything a turn works with; ``step_limit`` counts model calls."""
        self.provider = provider
        self.toolbox = toolbox
        self.journal = journal
        self.keeper = keeper
        self.audience = audience
        self.system = system
        self.step_limit = step_limit

    async def run(self) -> None:
        """Work until the model calls no tool any more.

        Raises ProviderError, StepLimitReached or condense.CannotFit; when cancelled, it first
        stores what was written so far.
        """
        for step in range(1, self.step_limit + 1):
            self.audience.publish(events.StepStarted(step))
            reply = await self._ask()
            if not reply.tool_uses:
                return
            await self._answer(reply)
        raise StepLimitReached(self.step_limit)

    async def _ask(self) -> condense.Message:
        """Return the model's stored reply, making the context smaller where it must."""
        history = await self.journal.effective_history()
        history = await self.keeper.fit(history, condense.Trigger.AUTO)
        for _ in range(FORCED_TRIES):
            try:
                return await self._call(history)
            except ContextOverflow:
                history = await self.keeper.fit(history, condense.Trigger.FORCED)
        return await self._call(history)

    async def _call(self, history: Sequence[condense.Message]) -> condense.Message:
        """Make one model call and store what came of it, also when it breaks off."""
        images = self.provider.model.supports_images
        messages = condense.shape_request(history, supports_images=images)
        request = ModelRequest(self.system, messages, self.toolbox.specs)
        draft = Draft(time.monotonic())
        try:
            reply = await self._listen(request, draft)
        except asyncio.CancelledError:
            await self._keep_partial(draft, STOPPED, "stopped by the user")
            raise
        except ProviderError as error:
            await self._keep_partial(draft, BROKEN_OFF, str(error))
            raise
        return await self._store(reply.content, reply.stop_reason, draft)

    async def _listen(self, request: ModelRequest, draft: Draft) -> events.ReplyCompleted:
        async for event in self.provider.stream(request):
            match event:
                case events.ReplyCompleted(usage=usage):
                    draft.reply, draft.usage = event, usage
                    continue
                case events.UsageReported(usage):
                    draft.usage = usage
                    continue
                case events.TextStreamed(text):
                    draft.text.append(text)
                case events.RetryScheduled(reason, seconds):
                    await self.journal.record_call(self._account(draft, reason))
                    draft.usage, draft.started = condense.Usage(), time.monotonic() + seconds
            self.audience.publish(event)
        if draft.reply is None:
            raise ProviderError("The stream ended before the reply was complete.")
        return draft.reply

    async def _store(
        self, content: tuple[condense.Block, ...], stop_reason: str, draft: Draft, error: str = ""
    ) -> condense.Message:
        call = self._account(draft, error)
        message = condense.Message(role="assistant", content=content)
        message = await self.journal.append(message, stop_reason=stop_reason, call=call)
        self.audience.publish(events.MessageAppended(message))
        return message

    async def _keep_partial(self, draft: Draft, stop_reason: str, error: str) -> None:
        """Store what was streamed, or at least that the call was made."""
        if draft.partial:
            await self._store(draft.partial, stop_reason, draft, error)
        else:
            await self.journal.record_call(self._account(draft, error))
            self.audience.publish(events.StreamDiscarded())

    def _account(self, draft: Draft, error: str = "") -> CallRecord:
        return CallRecord(
            purpose=Purpose.CHAT,
            usage=draft.usage,
            cost=self.provider.model.prices.cost(draft.usage),
            seconds=time.monotonic() - draft.started,
            error=error,
        )

    async def _answer(self, reply: condense.Message) -> None:
        """Run the reply's tool calls, one after the other, and store their results."""
        results: list[condense.Block] = []
        try:
            for call in reply.tool_uses:
                results.append(await self._run_tool(call))  # noqa: PERF401 - kept when stopped
        except asyncio.CancelledError:
            unanswered = reply.tool_uses[len(results) :]
            await self._append_results([*results, *map(_interrupted, unanswered)])
            raise
        await self._append_results(results)

    async def _run_tool(self, call: condense.ToolUseBlock) -> condense.ToolResultBlock:
        self.audience.publish(events.ToolStarted(call.id, call.name, call.input))
        started = time.monotonic()
        outcome = await self._outcome(call)
        seconds = time.monotonic() - started
        self.audience.publish(events.ToolFinished(call.id, outcome.text, outcome.is_error, seconds))
        return condense.ToolResultBlock(call.id, outcome.text, outcome.is_error)

    async def _outcome(self, call: condense.ToolUseBlock) -> ToolOutcome:
        if not isinstance(call.input, dict):
            return ToolOutcome("The tool's input must be a JSON object.", is_error=True)
        return await self.toolbox.run(call.name, call.input)

    async def _append_results(self, results: Sequence[condense.Block]) -> None:
        message = condense.Message(role="user", content=tuple(results))
        self.audience.publish(events.MessageAppended(await self.journal.append(message)))


def _interrupted(call: condense.ToolUseBlock) -> condense.ToolResultBlock:
    return condense.ToolResultBlock(call.id, INTERRUPTED_RESULT, is_error=True)
