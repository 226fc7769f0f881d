"""The calls of a reply: each is permitted, run and kept, one after the other."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import condense
from chatapp.agent import events
from chatapp.agent.async_tasks import finish
from chatapp.agent.ports import Audience, Journal
from chatapp.agent.prompts import NOT_RUN_RESULT
from chatapp.agent.tool_port import ApprovalPort, Asking, Toolbox, ToolOutcome


@dataclass(eq=False, kw_only=True, slots=True)
class ToolRunner:
    """Runs the calls of the last reply, and knows what came of them, however that ends."""

    toolbox: Toolbox
    approvals: ApprovalPort
    journal: Journal
    audience: Audience
    # Of the last reply's calls: the one that runs, and the results so far.
    _running: condense.ToolUseBlock | None = field(default=None, init=False)
    _results: list[condense.ToolResultBlock] = field(default_factory=list, init=False)

    async def take_up(self, reply: condense.Message) -> None:
        """Take over what calls have returned before this process began."""
        self._results[:] = await self.journal.results(reply)

    async def run(self, reply: condense.Message) -> None:
        """Run the calls that have no result yet."""
        for place, call in enumerate(reply.tool_uses):
            if place >= len(self._results):
                await self._run(Asking(call, reply.seq, place))

    def close(self, reply: condense.Message) -> condense.Message:
        """Return the message with all results; calls that did not finish say so."""
        results = [*self._results]
        for call in reply.tool_uses[len(results) :]:
            text = condense.INTERRUPTED if call is self._running else NOT_RUN_RESULT
            results.append(condense.ToolResultBlock(call.id, text, is_error=True))
        self._results.clear()
        return condense.Message(role="user", content=tuple(results))

    async def _run(self, asking: Asking) -> None:
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
        """Return why a call does not run, None where it may."""
        if not isinstance(asking.call.input, dict):
            return ToolOutcome("The tool's input must be a JSON object.", is_error=True)
        return await self.approvals.permit(asking)


@dataclass(frozen=True, slots=True)
class CallLine:
    """The ``Line`` of one call."""

    asking: Asking
    approvals: ApprovalPort
    audience: Audience

    def show(self, output: str) -> None:
        """Show the end of what it has put out so far."""
        self.audience.publish(events.ToolProgressed(self.asking.call.id, output))

    async def ask(self, question: str, answers: Sequence[str], /) -> str:
        """Return what a person answers."""
        return await self.approvals.ask(self.asking, question, answers)
