"""Implementations of the agent's ports that need nothing."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import condense
from chatapp.agent import events
from chatapp.agent.loop import AgentLoop
from chatapp.agent.ports import (
    NO_LINE,
    Asking,
    CallOpening,
    CallRecord,
    Line,
    Model,
    ModelRequest,
    PartialReply,
    ReplyReader,
    ToolOutcome,
    ToolSpec,
)

PRICES = condense.Prices(input=Decimal(1), output=Decimal(5))
MODEL = Model(name="scripted", context_window=1_000_000, max_output=100, prices=PRICES)

SENT = events.SentRequest(b"", (), b"", (), b"", b"")

Script = Sequence[events.StreamEvent | Exception | asyncio.Event]


def reply(*blocks: condense.Block, stop_reason: str = "end_turn") -> events.ReplyCompleted:
    """Return a whole reply of these blocks."""
    return events.ReplyCompleted(blocks, stop_reason, condense.Usage(input=10, output=2))


def say(text: str) -> list[events.StreamEvent]:
    """Return the stream of a reply that is only text."""
    return [events.TextStreamed(text), reply(condense.TextBlock(text))]


def call(name: str, *, id_: str = "call_1", **arguments: Any) -> list[events.StreamEvent]:
    """Return the stream of a reply that calls one tool."""
    block = condense.ToolUseBlock(id_, name, arguments)
    return [events.ToolUseStarted(id_, name), reply(block, stop_reason="tool_use")]


class ScriptedProvider:
    """Plays one script per call; an exception in it is raised, an event is waited for."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = iter(scripts)
        self.requests: list[ModelRequest] = []

    @property
    def model(self) -> Model:
        return MODEL

    async def count_tokens(self, _request: ModelRequest) -> int | None:
        return None

    async def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        yield SENT
        self.requests.append(request)
        for item in next(self.scripts):
            match item:
                case asyncio.Event():
                    await item.wait()
                case Exception():
                    raise item
                case _:
                    yield item


class ListJournal:
    """Keeps messages and calls in lists."""

    previous_reply = ""

    def __init__(self, *texts: str) -> None:
        self.seqs = itertools.count(1)
        self.numbers = itertools.count(1)
        self.calls: list[CallRecord] = []
        self.stop_reasons: list[str] = []
        self.open: dict[int, CallOpening] = {}
        self.drafts: list[PartialReply] = []
        self.tools: dict[int, ToolOutcome | None] = {}
        self.messages: list[condense.Message] = []
        for text in texts:
            self._add(condense.Message(role="user", content=text))

    def _add(self, message: condense.Message) -> condense.Message:
        message = replace(message, seq=next(self.seqs))
        self.messages.append(message)
        return message

    async def effective_history(self) -> Sequence[condense.Message]:
        return condense.effective_history(self.messages)

    async def open_call(self, opening: CallOpening) -> int:
        number = next(self.numbers)
        self.open[number] = opening
        return number

    async def withdraw_call(self, number: int) -> None:
        del self.open[number]

    def keep_partial_reply(self, number: int, read: ReplyReader, *, at_once: bool) -> None:
        assert number in self.open
        self.drafts.append(read())

    async def open_tool(self, call: condense.ToolUseBlock) -> int:
        number = next(self.numbers)
        self.tools[number] = None
        return number

    async def close_tool(self, number: int, outcome: ToolOutcome) -> None:
        self.tools[number] = outcome

    async def results(self, reply: condense.Message) -> Sequence[condense.ToolResultBlock]:
        done = [outcome for outcome in self.tools.values() if outcome]
        return [one.answer(call) for call, one in zip(reply.tool_uses, done, strict=False)]

    async def append(
        self, message: condense.Message, *, stop_reason: str = "", call: CallRecord | None = None
    ) -> condense.Message:
        self.stop_reasons.append(stop_reason)
        if call:
            await ListJournal.record_call(self, call)
        return self._add(message)

    async def record_call(self, call: CallRecord) -> None:
        del self.open[call.number]
        self.calls.append(call)


class RecordingController:
    """Changes nothing, and remembers what it was asked."""

    def __init__(self) -> None:
        self.triggers: list[condense.Trigger] = []

    async def fit(
        self, history: Sequence[condense.Message], trigger: condense.Trigger
    ) -> Sequence[condense.Message]:
        self.triggers.append(trigger)
        return history

    async def figures(self, history: Sequence[condense.Message]) -> events.ContextChanged:
        return events.ContextChanged(
            tokens=len(history),
            measured=False,
            system=0,
            tools=0,
            messages=len(history),
            summaries=0,
            window=MODEL.context_window,
            max_output=MODEL.max_output,
            threshold=80,
            threshold_source="",
            buffer=0.1,
        )

    def leave(self) -> None:
        """Nobody waits."""


class RecordingAudience:
    """Remembers every event; ``came[type]`` is set when the first of a type has come."""

    def __init__(self) -> None:
        self.events: list[events.TurnEvent] = []
        self.came: defaultdict[type[Any], asyncio.Event] = defaultdict(asyncio.Event)

    def publish(self, event: events.TurnEvent) -> None:
        self.events.append(event)
        self.came[type(event)].set()

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the events of one type, in order."""
        return [event for event in self.events if isinstance(event, kind)]


class EchoToolbox:
    """One tool, ``echo``, that answers its arguments; ``gate`` holds it until it is set."""

    specs = (ToolSpec("echo", "Answers its arguments.", {"type": "object"}),)

    def __init__(self, gate: asyncio.Event | None = None) -> None:
        self.gate = gate
        self.started = asyncio.Event()

    async def run(
        self, name: str, arguments: Mapping[str, Any], line: Line = NO_LINE
    ) -> ToolOutcome:
        self.started.set()
        if self.gate:
            await self.gate.wait()
        return ToolOutcome(f"{name} {dict(arguments)}")


class AllowAll:
    """Lets everything run, and asks nobody."""

    async def permit(self, _asking: Asking) -> ToolOutcome | None:
        return None

    async def ask(self, _asking: Asking, question: str, answers: Sequence[str]) -> str:
        return await NO_LINE.ask(question, answers)

    def leave(self) -> None:
        """Nobody waits."""


class AllowingLoop(AgentLoop):
    """A loop whose tools run without being asked for."""

    approvals = AllowAll()


class Stage:
    """A loop and the ports it plays on."""

    provider_type: type[ScriptedProvider] = ScriptedProvider
    journal_type: type[ListJournal] = ListJournal
    toolbox_type: type[EchoToolbox] = EchoToolbox

    def __init__(
        self, *scripts: Script, toolbox: EchoToolbox | None = None, step_limit: int = 10
    ) -> None:
        self.provider = self.provider_type(*scripts)
        self.journal = self.journal_type("Hello")
        self.controller = RecordingController()
        self.audience = RecordingAudience()
        self.loop = AllowingLoop(
            provider=self.provider,
            toolbox=toolbox or self.toolbox_type(),
            journal=self.journal,
            controller=self.controller,
            audience=self.audience,
            system="Be brief.",
            step_limit=step_limit,
        )
