"""Where the provider caches prompts, the summary call begins as the conversation's own calls do."""

from collections.abc import Sequence
from decimal import Decimal

import pytest

from condense import (
    Block,
    Message,
    OpaqueBlock,
    SummaryFailed,
    TextBlock,
    TextChunk,
    ToolCallChunk,
    ToolResultBlock,
    Trigger,
    Usage,
    UsageChunk,
    condense_instruction,
    shape_request,
    summary_system,
)
from condense.testing import ScriptedSummarizer
from tests.condense.api_rules import assert_valid_request
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import IMAGE, call, chat, result, start_afresh, texts, user

TOOLS = ({"name": "read_file", "description": "d", "input_schema": {"type": "object"}},)
THOUGHT = OpaqueBlock({"type": "thinking", "thinking": "hm", "signature": "s"})
WORK = [
    user("go"),
    Message("assistant", (THOUGHT, *call("t1").blocks)),
    Message("user", (ToolResultBlock("t1", (TextBlock("seen"), IMAGE)),)),
    call("open"),
    user("never mind"),
    user("and this"),
    Message("assistant", "done "),
]


def caching(*replies: object, **rest: bool) -> ScriptedSummarizer:
    """Return a model whose provider caches prompts."""
    return ScriptedSummarizer(*replies, caches_prompts=True, **rest)  # type: ignore[arg-type]


def blocks(messages: Sequence[Message]) -> list[tuple[str, Block]]:
    """Return a request as a cache sees it: block after block, with the role it stands in."""
    return [(message.role, block) for message in messages for block in message.blocks]


@pytest.mark.parametrize("supports_images", [True, False])
@pytest.mark.parametrize("history", [chat(6), WORK, [*WORK, user("more"), call(), result()]])
async def test_it_begins_with_what_the_last_call_sent(
    history: list[Message], supports_images: bool
) -> None:
    """Block for block, or the provider would not know it."""
    model = caching("S", supports_images=supports_images)
    await start_afresh(history, model, system="be kind", tools=TOOLS)
    request = model.requests[0]
    last_reply = max(i for i, m in enumerate(history) if m.role == "assistant" and not m.tool_uses)
    own = blocks(shape_request(history[:last_reply], supports_images=supports_images))
    assert blocks(request.messages)[: len(own)] == own
    assert (request.system, request.tools, request.aligned) == ("be kind", TOOLS, True)


async def test_it_ends_with_one_instruction_that_forbids_tools() -> None:
    """The tools are still there, so it is said where the model reads last."""
    model = caching("S")
    made = await start_afresh(WORK, model, system="be kind", tools=TOOLS, focus="names")
    asked = texts(model.requests[0].messages[-1])[-1]
    assert "call no tools" in asked
    instruction = condense_instruction(focus="names", words=150)
    assert asked.endswith(instruction)
    assert made.prompt == instruction
    assert_valid_request([message.to_api() for message in model.requests[0].messages])


async def test_without_a_cache_it_is_plain_text() -> None:
    """Whoever cannot say whether prompts are cached does not cache them."""
    model = ScriptedSummarizer("S")
    del model.caches_prompts
    await start_afresh(WORK, model, tools=TOOLS)
    assert not model.requests[0].aligned
    assert model.requests[0].tools == ()
    assert model.requests[0].system == summary_system()


async def test_an_answer_that_calls_a_tool_is_asked_for_again_as_plain_text() -> None:
    """Within the same attempt, and both calls are paid for."""
    first = [
        TextChunk("Let me look."),
        ToolCallChunk("read_file"),
        UsageChunk(Usage(input=10, cache_read=90), Decimal("0.1")),
    ]
    second = [TextChunk("S"), UsageChunk(Usage(input=100, output=5), Decimal("0.3"))]
    bench = Bench(first, second)
    bench.summarizer.caches_prompts = True
    made = await bench.fit(talk(11), trigger=Trigger.MANUAL, tools=TOOLS)
    assert made is not None
    assert [request.aligned for request in bench.summarizer.requests] == [True, False]
    assert bench.log.names == ["started", "succeeded"]
    assert made.summary == "S"
    assert made.usage == Usage(input=110, output=5, cache_read=90)
    assert made.cost == Decimal("0.4")
    assert "asked again without tools" in made.notes[0]


async def test_an_aligned_call_that_fails_is_not_made_again() -> None:
    """The next one would meet the same provider."""
    model = caching(OSError("no"), "S")
    with pytest.raises(SummaryFailed):
        await start_afresh(chat(6), model)
    assert len(model.requests) == 1


async def test_where_prompt_and_tools_leave_no_room_it_is_plain_text() -> None:
    """The history alone still fits."""
    model = caching("S")
    await start_afresh(chat(10), model, window=4_000, system="word " * 2_000)
    assert [request.aligned for request in model.requests] == [False]
