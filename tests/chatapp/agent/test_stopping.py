"""However a turn ends, what was written is kept, every call answered, and all of it paid for."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import LeftEarly
from chatapp.agent.ports import NO_LINE, CallOpening, CallRecord, Line, ModelRequest, ToolOutcome
from tests.chatapp.agent.fakes import EchoToolbox, ListJournal, ScriptedProvider, Stage, reply, say


class SlowJournal(ListJournal):
    """Needs some rounds of the event loop for everything it keeps, as a database does."""

    async def open_call(self, opening: CallOpening) -> int:
        await pause()
        return await super().open_call(opening)

    async def open_tool(self, call: condense.ToolUseBlock) -> int:
        await pause()
        return await super().open_tool(call)

    async def close_tool(self, number: int, outcome: ToolOutcome) -> None:
        await pause()
        await super().close_tool(number, outcome)

    async def append(
        self, message: condense.Message, *, stop_reason: str = "", call: CallRecord | None = None
    ) -> condense.Message:
        await pause()
        stored = await super().append(message, stop_reason=stop_reason, call=call)
        # What is committed may be stopped before anybody heard of it.
        await pause()
        return stored

    async def record_call(self, call: CallRecord) -> None:
        await pause()
        await super().record_call(call)


class SlowProvider(ScriptedProvider):
    """Needs some rounds of the event loop after each event that came of its request."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        async for event in super().stream(request):
            yield event
            if not isinstance(event, events.SentRequest):
                await pause()


class SlowToolbox(EchoToolbox):
    """Needs some rounds of the event loop for each tool."""

    async def run(
        self, name: str, arguments: Mapping[str, Any], line: Line = NO_LINE
    ) -> ToolOutcome:
        await pause()
        return await super().run(name, arguments, line)


async def pause() -> None:
    """Let others run, a few times."""
    for _ in range(3):
        await asyncio.sleep(0)


class SlowStage(Stage):
    """A loop on slow ports."""

    provider_type, journal_type, toolbox_type = SlowProvider, SlowJournal, SlowToolbox

    async def run_for(self, rounds: int) -> bool:
        """Stop the turn after some rounds of the event loop; False when it ended before."""
        turn = asyncio.create_task(self.loop.run())
        for _ in range(rounds):
            await asyncio.sleep(0)
        if turn.done():
            await turn
            return False
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        return True

    @property
    def streamed(self) -> str:
        """All text that people saw."""
        return "".join(event.text for event in self.audience.of(events.TextStreamed))

    @property
    def stored(self) -> str:
        """All text of the model that is stored."""
        said = [message for message in self.journal.messages if message.role == "assistant"]
        return "".join(message.text for message in said)


def two_calls() -> list[events.StreamEvent]:
    """Return the stream of a reply that says something and calls a tool twice."""
    text = condense.TextBlock("Let me look.")
    uses = [condense.ToolUseBlock(f"call_{n}", "echo", {"n": n}) for n in (1, 2)]
    return [
        events.TextStreamed("Let me "),
        events.TextStreamed("look."),
        *(events.ToolUseStarted(one.id, one.name) for one in uses),
        reply(text, *uses, stop_reason="tool_use"),
    ]


def unanswered(messages: Sequence[condense.Message]) -> list[str]:
    """Return the ids of calls that the next message does not answer."""
    missing: list[str] = []
    for message, following in itertools.pairwise([*messages, condense.Message("user", "")]):
        answered = {result.tool_use_id for result in following.tool_results}
        missing += [use.id for use in message.tool_uses if use.id not in answered]
    return missing


async def test_a_stop_at_any_await_loses_nothing() -> None:
    """Every word that was seen is stored, each call answered once, each request accounted for."""
    rounds = 0
    while True:
        stage = SlowStage(two_calls(), say("Done."))
        stopped = await stage.run_for(rounds)
        assert stage.stored.strip() == stage.streamed.strip(), f"after {rounds} rounds"
        assert unanswered(stage.journal.messages) == []
        answers = [one.tool_use_id for said in stage.journal.messages for one in said.tool_results]
        assert len(answers) == len(set(answers)), f"after {rounds} rounds"
        assert len(stage.journal.calls) == len(stage.provider.requests)
        assert not stage.journal.open
        if not stopped:
            break
        rounds += 1
    assert rounds > 40


async def test_a_tool_that_was_not_begun_says_so() -> None:
    """Only the one that ran when the turn was stopped may have done something."""
    stage = SlowStage(two_calls(), toolbox=EchoToolbox(gate=asyncio.Event()))
    turn = asyncio.create_task(stage.loop.run())
    await stage.audience.came[events.ToolStarted].wait()
    await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    texts = [str(result.content) for result in stage.journal.messages[-1].tool_results]
    assert ["may have run" in text for text in texts] == [True, False]
    assert "Not run" in texts[1]


class Defective(EchoToolbox):
    """Its second call raises what no tool should."""

    async def run(
        self, name: str, arguments: Mapping[str, Any], line: Line = NO_LINE
    ) -> ToolOutcome:
        if arguments == {"n": 2}:
            raise RuntimeError("a defect")
        return await super().run(name, arguments, line)


async def test_a_defect_in_a_tool_leaves_the_results_before_it() -> None:
    """And no call without an answer."""
    stage = SlowStage(two_calls(), toolbox=Defective())
    with pytest.raises(RuntimeError, match="a defect"):
        await stage.loop.run()
    results = stage.journal.messages[-1].tool_results
    assert [result.is_error for result in results] == [False, True]


async def test_an_unforeseen_error_in_a_call_keeps_what_was_streamed() -> None:
    """It is no reason to lose words; thinking and the input of tool calls are paid for too."""
    stage = SlowStage(
        [
            events.UsageReported(condense.Usage(input=10, output=1)),
            events.ThinkingStarted(),
            events.ThinkingStreamed("Let me think. "),
            events.TextStreamed("Well. "),
            events.ThinkingStarted(),
            events.ThinkingStarted(),
            events.TextStreamed("Half a sen"),
            events.ThinkingStarted(),
            RuntimeError(),
        ]
    )
    with pytest.raises(RuntimeError):
        await stage.loop.run()
    assert (stage.stored, stage.journal.stop_reasons) == ("Well.\n\nHalf a sen", ["error"])
    record = stage.journal.calls[0]
    assert (record.is_whole, record.error) == (False, "RuntimeError")
    assert all(words in record.draft.written for words in ("Let me think.", "Half a sen"))
    # No thought takes no time at all; the last one was not over.
    assert stage.audience.of(events.ThinkingEnded) == [events.ThinkingEnded(1)] * 3
    assert [one.get("seconds") for one in record.draft.blocks] == [1, None, 1, 1, None, 1]
    thought, answer = {"type": "thinking"}, condense.TextBlock("Yes.")
    stage = SlowStage([events.ThinkingStarted(), reply(condense.OpaqueBlock(thought), answer)])
    await stage.loop.run()
    assert stage.audience.of(events.ThinkingEnded) == [events.ThinkingEnded(1)]
    timed = condense.OpaqueBlock({**thought, condense.BESIDE: {"seconds": 1}})
    assert stage.journal.messages[-1].blocks == (timed, answer)


async def test_a_turn_that_is_to_leave_ends_at_its_next_safe_point() -> None:
    """The reply and the results of its tools are stored, and the model is not asked again."""
    toolbox = EchoToolbox(asyncio.Event())
    stage = SlowStage(two_calls(), say("Never asked."), toolbox=toolbox)
    turn = asyncio.create_task(stage.loop.run())
    await toolbox.started.wait()
    stage.loop.leave()
    toolbox.gate.set()
    with pytest.raises(LeftEarly):
        await turn
    assert [len(message.tool_results) for message in stage.journal.messages] == [0, 0, 2]
    assert len(stage.provider.requests) == 1


async def test_an_answer_that_is_cut_while_the_server_stops_was_interrupted() -> None:
    """Nobody has stopped it."""
    stage = SlowStage([events.TextStreamed("Once upon"), asyncio.Event()])
    turn = asyncio.create_task(stage.loop.run())
    await stage.audience.came[events.TextStreamed].wait()
    stage.loop.leave()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert (stage.stored, stage.journal.stop_reasons) == ("Once upon", ["interrupted"])
