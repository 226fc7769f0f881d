"""A provider writes the engine's summaries: from its cache where it can, and on the books."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow
from chatapp.agent.model_call import ProviderSummarizer
from chatapp.agent.ports import CallRecord, Model, ModelRequest, Purpose
from chatapp.providers import request_bytes
from tests.chatapp.agent.fakes import (
    EchoToolbox,
    ListJournal,
    RecordingAudience,
    Script,
    ScriptedProvider,
    call,
    reply,
    say,
)
from tests.standin.thinking import unmarked

MODEL = Model(name="claude-sonnet-5", context_window=200_000, max_output=8_000)
TALK = (
    condense.Message("user", "Look at a.py."),
    condense.Message("assistant", (condense.ToolUseBlock("t1", "echo", {"path": "a.py"}),)),
    condense.Message("user", (condense.ToolResultBlock("t1", "print(1)"),)),
)
REPLY = condense.Message("assistant", "It prints 1.")


def aligned(*messages: condense.Message) -> condense.SummaryRequest:
    """Return an aligned request as the engine makes it."""
    asked = condense.Message("user", "Summarise.")
    tools = tuple(spec.to_api() for spec in EchoToolbox.specs)
    shaped = condense.shape_request((*messages, asked))
    return condense.SummaryRequest("Be brief.", shaped, 100, tools, aligned=True)


def summarizer(
    provider: Any, journal: ListJournal, audience: RecordingAudience | None = None
) -> ProviderSummarizer:
    """Return a summarizer over a provider."""
    return ProviderSummarizer(provider, journal, audience or RecordingAudience())


async def listen(provider: Any, journal: ListJournal, request: Any) -> list[condense.Chunk]:
    """Return all chunks of one call."""
    return [chunk async for chunk in summarizer(provider, journal).stream(request)]


def write_request(asked: ModelRequest, model: Model) -> Any:
    """Return the JSON of a request as it is sent."""
    # It imports an SDK, for which no other test waits.
    from chatapp.providers.anthropic.request import AnthropicRequestWriter  # noqa: PLC0415

    return request_bytes.decode(AnthropicRequestWriter(model).write(asked).body)


def blocks(body: dict[str, Any]) -> list[Any]:
    """Return all content blocks in order, as a cache compares them."""
    found: list[Any] = []
    for message in body["messages"]:
        content = message["content"]
        texts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [(message["role"], block) for block in texts]
    return found


async def test_an_aligned_request_goes_out_as_the_chats_own_call_did() -> None:
    """All but the end is read from the cache; a tool call is told, to ask again without tools."""
    provider = ScriptedProvider(say("S"))
    await listen(provider, ListJournal(), aligned(*TALK, REPLY))
    sent = unmarked(write_request(provider.requests[0], MODEL))
    chat = ModelRequest("Be brief.", condense.shape_request(TALK), EchoToolbox.specs)
    own = unmarked(write_request(chat, MODEL))
    assert blocks(sent)[: len(blocks(own))] == blocks(own)
    assert {**sent, "messages": []} == {**own, "messages": []}
    assert provider.requests[0].purpose is Purpose.SUMMARY
    chunks = await listen(ScriptedProvider(call("echo")), ListJournal(), aligned(*TALK, REPLY))
    assert condense.ToolCallChunk("echo") in chunks


async def test_an_answer_that_was_cut_off_is_told_to_the_engine() -> None:
    """Half a summary is not taken for whole."""
    for reason, is_cut in (("max_tokens", True), ("end_turn", False)):
        script = [events.TextStreamed("S"), reply(condense.TextBlock("S"), stop_reason=reason)]
        chunks = await listen(ScriptedProvider(script), ListJournal(), aligned(*TALK, REPLY))
        assert (condense.CutChunk() in chunks) is is_cut


async def test_thinking_that_was_taken_for_the_summary_is_no_part_of_it() -> None:
    """The engine is told to forget it, and does."""
    thought = [events.TextStreamed("<summary>Draft.</summary>"), events.StreamDiscarded()]
    script = [*thought, events.TextStreamed("S"), reply(condense.TextBlock("S"))]
    chunks = await listen(ScriptedProvider(script), ListJournal(), aligned(*TALK, REPLY))
    assert chunks[:3] == [
        condense.TextChunk("<summary>Draft.</summary>"),
        condense.DiscardChunk(),
        condense.TextChunk("S"),
    ]


class Playing(ScriptedProvider):
    """A scripted provider of another model."""

    def __init__(self, model: Model, *scripts: Script) -> None:
        super().__init__(*scripts)
        self._model = model

    @property
    def model(self) -> Model:
        return self._model


def test_whether_prompts_are_cached_is_the_models() -> None:
    """The profile's provider knows; an overflow is told by an attribute, whatever it says."""
    for caches in (True, False):
        model = Model("m", 1_000, 100, caches_prompts=caches)
        assert summarizer(Playing(model), ListJournal()).caches_prompts is caches
        assert ContextOverflow("zu lang").is_context_overflow


async def test_a_call_that_was_made_again_is_not_priced_as_one_long_prompt() -> None:
    """It is on the bill twice, and neither short prompt is above the bound of the surcharge."""
    times = condense.Surcharge(15, input=Decimal(2))
    prices = condense.Prices(input=Decimal(1), surcharge=times)
    script = [
        events.UsageReported(condense.Usage(input=10)),
        events.RetryScheduled("Overloaded.", 0.0, attempt=2, attempts=5),
        *say("S"),
    ]
    provider = Playing(Model("m", 1_000, 100, prices), script)
    chunks = await listen(provider, ListJournal(), aligned(*TALK, REPLY))
    last = [chunk for chunk in chunks if isinstance(chunk, condense.UsageChunk)][-1]
    assert (last.usage, last.cost) == (condense.Usage(input=20, output=2), Decimal("0.000020"))


async def test_whoever_waits_for_a_summary_is_told_when_it_is_tried_again() -> None:
    """As for an answer of the chat."""
    retry = events.RetryScheduled("Overloaded.", 7.0, attempt=2, attempts=5)
    audience = RecordingAudience()
    writing = summarizer(ScriptedProvider([retry, *say("S")]), ListJournal(), audience)
    assert [chunk async for chunk in writing.stream(aligned(*TALK, REPLY))]
    assert audience.events == [retry]


class SlowJournal(ListJournal):
    """Takes its time to write."""

    def __init__(self) -> None:
        super().__init__()
        self.writing, self.may_write = asyncio.Event(), asyncio.Event()

    async def record_call(self, call: CallRecord) -> None:
        self.writing.set()
        await self.may_write.wait()
        await super().record_call(call)


async def test_a_call_that_is_cancelled_while_it_is_recorded_is_recorded() -> None:
    """When one of several calls fails, the others are cancelled wherever they are."""
    journal = SlowJournal()
    request = aligned(*TALK, REPLY)
    running = asyncio.ensure_future(listen(ScriptedProvider(say("S")), journal, request))
    await journal.writing.wait()
    running.cancel()
    await asyncio.sleep(0)
    journal.may_write.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(journal.calls) == 1
