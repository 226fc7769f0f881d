"""The agent loop: model call, tool calls, results, model call … until nothing is left to do."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import condense
from chatapp.agent import errors, events
from chatapp.agent.async_tasks import compute, finish
from chatapp.agent.errors import (
    ContextOverflow,
    LeftEarly,
    LeftWaiting,
    ProviderError,
    StepLimitReached,
)
from chatapp.agent.model_call import StreamedCall
from chatapp.agent.ports import (
    ApprovalPort,
    Asking,
    Audience,
    ContextPort,
    Journal,
    ModelRequest,
    Provider,
    Toolbox,
    ToolOutcome,
)
from chatapp.agent.prompts import NOT_RUN_RESULT
from chatapp.agent.tool_arguments import UNPARSED, explain
from condense import say

# Roo Code, too, gives up after three forced reductions of one request.
FORCED_TRIES = 3
MOST_EQUAL_FAILURES = 3

STOPPED, INTERRUPTED = "stopped", "interrupted"


@dataclass(frozen=True, slots=True)
class CallLine:
    """The ``Line`` of one call."""

    asking: Asking
    approvals: ApprovalPort
    audience: Audience

    def show(self, output: str) -> None:
        """Show the end of the tool's output so far."""
        self.audience.publish(events.ToolProgressed(self.asking.call.id, output))

    async def ask(self, question: str, answers: Sequence[str], /) -> str:
        """Return a person's answer."""
        return await self.approvals.ask(self.asking, question, answers)


@dataclass(eq=False, kw_only=True)
class AgentLoop(ABC):
    """Runs one turn: at most ``step_limit`` model calls, and the tool calls of their replies."""

    provider: Provider
    toolbox: Toolbox
    journal: Journal
    controller: ContextPort
    audience: Audience
    system: str
    step_limit: int
    _history: tuple[condense.Message, ...] = field(default=(), init=False)
    _leaving: bool = field(default=False, init=False)
    # The call that runs of the last reply's calls, and the results so far.
    _running: condense.ToolUseBlock | None = field(default=None, init=False)
    _results: list[condense.ToolResultBlock] = field(default_factory=list, init=False)
    # The newest steps' calls with their results, where all failed in the same way.
    _failures: list[object] = field(default_factory=list, init=False)

    @cached_property
    @abstractmethod
    def approvals(self) -> ApprovalPort:
        """The approvals of this turn, made for its first tool call."""

    def leave(self) -> None:
        """End at the next safe point: once a reply and the results of its tools are stored.

        A person who is asked something may take days, so that is one too.
        """
        self._leaving = True
        self.approvals.leave()
        self.controller.leave()

    async def run(self) -> None:
        """Work until the model calls no tool any more; begin with calls that have no results yet.

        Raises ProviderError, StepLimitReached, LeftEarly or condense.CondenseError. At any end, a
        cancellation included, the partial reply is stored first, and every call answered. After
        LeftWaiting nothing is: the process that resumes the turn asks the same person again.
        """
        try:
            self._history = tuple(await self.journal.effective_history())
            await self._tell()
            if self._history and self._history[-1].tool_uses:
                self.audience.publish(events.MessageAppended.of(self._history[-1]))
                # Results that were stored before this process began.
                self._results = [*await self.journal.results(self._history[-1])]
                await self._answer()
            for step in range(1, self.step_limit + 1):
                if self._leaving:
                    raise LeftEarly
                self.audience.publish(events.StepStarted(step))
                await self._ask(step)
                if not self._history[-1].tool_uses:
                    return
                await self._answer()
                self._check_failures()
            raise StepLimitReached(self.step_limit)
        except LeftWaiting:
            raise
        except BaseException:
            await finish(self._answer_rest())
            raise

    async def _ask(self, step: int) -> None:
        """Get the model's reply; reduce the context if it is too large."""
        self._history = tuple(await self.controller.fit(self._history, condense.Trigger.AUTO))
        for _ in range(FORCED_TRIES):
            try:
                return await self._call(step)
            except ContextOverflow as overflow:
                try:
                    fitted = await self.controller.fit(self._history, condense.Trigger.FORCED)
                except condense.CannotFit as error:
                    if error.floor and error.floor.total <= error.floor.limit:
                        # By all that is known here it fits: only the provider knows why not.
                        raise overflow from error
                    raise
                self._history = tuple(fitted)
        return await self._call(step)

    async def _call(self, step: int) -> None:
        """Make one model call and store its reply, or the part that came before an error."""
        images = self.provider.model.supports_images
        history = self._history
        contents = [one.content for one in history]
        messages = await compute(contents, condense.shape_request, history, supports_images=images)
        request = ModelRequest(self.system, messages, self.toolbox.specs)
        call = StreamedCall(self.provider, request, self.journal, sent=self._history, step=step)
        try:
            async for event in call.listen():
                if isinstance(event, events.ReplyEvent):
                    self.audience.publish(event)
        except BaseException as error:
            how = getattr(error, "stop_reason", ProviderError.stop_reason)
            reason = str(error) or type(error).__name__
            if isinstance(error, asyncio.CancelledError):
                how = reason = INTERRUPTED if self._leaving else STOPPED
            await finish(self._keep(call, how, reason))
            raise
        await finish(self._keep(call))

    async def _keep(self, call: StreamedCall, stop_reason: str = "", error: str = "") -> None:
        """Store the reply, else its streamed part, else only the record of the call."""
        if call.reply:
            content, stop_reason, error = call.reply.content, call.reply.stop_reason, ""
        elif (draft := call.draft()).shows:
            content = draft.content
        else:
            await call.account(error)
            self.audience.publish(events.StreamDiscarded())
            return
        message = condense.Message(role="assistant", content=content)
        record = call.record(error)
        await self._tell(await self.journal.append(message, stop_reason=stop_reason, call=record))

    async def _answer(self) -> None:
        """Run the reply's calls without a result, one after the other, and store all results."""
        reply = self._history[-1]
        for place, call in enumerate(reply.tool_uses):
            if place >= len(self._results):
                await self._run_tool(Asking(call, reply.seq, place))
        await finish(self._answer_rest())

    async def _run_tool(self, asking: Asking) -> None:
        call = asking.call
        refused = await self._refusal(asking)
        number = await self.journal.open_tool(call)
        self._running = call
        self.audience.publish(events.ToolStarted(call.id, call.name))
        started = time.monotonic()
        line = CallLine(asking, self.approvals, self.audience)
        outcome = refused or await self.toolbox.run(call.name, call.input, line)
        seconds = time.monotonic() - started
        self._results.append(outcome.answer(call))
        await finish(self.journal.close_tool(number, outcome))
        self.audience.publish(events.ToolFinished(call.id, number, outcome.is_error, seconds))

    async def _refusal(self, asking: Asking) -> ToolOutcome | None:
        """Return the refusal of a call, None if it may run."""
        given = asking.call.input if isinstance(asking.call.input, dict) else {UNPARSED: "[]"}
        if UNPARSED in given:
            return ToolOutcome(explain(str(given[UNPARSED])), is_error=True)
        return await self.approvals.permit(asking)

    def _check_failures(self) -> None:
        """Raise AgentError after three equal failures; any unreadable arguments are equal."""
        calls, results = self._history[-2].tool_uses, self._history[-1].tool_results
        made = [(one.name, None if UNPARSED in str(one.input) else one.input) for one in calls]
        failure = made, [one.content for one in results if one.is_error]
        same = self._failures if failure in self._failures else []
        self._failures = [*same, failure] if len(failure[1]) == len(results) else []
        if len(self._failures) == MOST_EQUAL_FAILURES:
            said = say("{name} failed three times in a row, in the same way.", name=calls[0].name)
            raise errors.AgentError(said)

    async def _answer_rest(self) -> None:
        """Store the results of the last reply's calls; those that did not finish say so."""
        if not (self._history and self._history[-1].tool_uses):
            return
        results, self._results = self._results, []
        for call in self._history[-1].tool_uses[len(results) :]:
            text = condense.INTERRUPTED if call is self._running else NOT_RUN_RESULT
            results.append(condense.ToolResultBlock(call.id, text, is_error=True))
        message = condense.Message(role="user", content=tuple(results))
        await self._tell(await self.journal.append(message))

    async def _tell(self, stored: condense.Message | None = None) -> None:
        """Publish a stored message, and the figures of the effective history."""
        if stored:
            self._history = (*self._history, stored)
            self.audience.publish(events.MessageAppended.of(stored))
        self.audience.publish(await self.controller.figures(self._history))
