"""What a fresh start asks of the model, and what it makes of a failed answer."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from condense import (
    BESIDE,
    ENVIRONMENT,
    INTERRUPTED,
    RECALLED,
    Block,
    CutChunk,
    DiscardChunk,
    ImageBlock,
    Message,
    OpaqueBlock,
    SummaryFailed,
    Tags,
    TextBlock,
    TextChunk,
    ToolCallChunk,
    ToolResultBlock,
    Usage,
    UsageChunk,
    condense_instruction,
    load_prompt,
    shape_request,
)
from condense.testing import ScriptedSummarizer
from tests.condense.api_rules import assert_valid_request
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import IMAGE, call, chat, result, start_afresh, texts, user
from tests.condense.fakes import RepeatingSummarizer


async def test_the_request_is_valid_without_tools_and_ends_with_the_instruction() -> None:
    """Calls and results are plain text; with focus and limit, as the record says."""
    summarizer = ScriptedSummarizer("S")
    messages = [user("go"), call("t1"), result("t1", "file a"), call("t2"), *chat(2)]
    await start_afresh(messages, summarizer)
    request = summarizer.requests[0]
    assert_valid_request([m.to_api() for m in request.messages], tools_present=False)
    assert texts(request.messages[-1])[-1] == condense_instruction(words=150)
    assert request.system == load_prompt("summary_system")
    sent = "\n".join(message.text for message in request.messages)
    assert "[Tool Use: read_file]\npath: a.py" in sent
    assert "[Tool Result]\nfile a" in sent
    assert f"[Tool Result]\n{INTERRUPTED}" in sent
    summarizer = ScriptedSummarizer("S")
    made = await start_afresh(WORK, summarizer, prompt=" Be brief. ", focus="names")
    (request,) = summarizer.requests
    assert request.max_output == 100
    assert THOUGHT not in [block for one in request.messages for block in one.blocks]
    assert made.prompt == condense_instruction("Be brief.", "names")
    assert texts(request.messages[-1])[-1] == made.prompt


LOOK = Message("user", (TextBlock("look"), IMAGE))
A = Message("assistant", "A")


def plotted(*content: Block) -> Message:
    """Return what a tool shows."""
    return Message("user", (ToolResultBlock("t1", content),))


async def shown(
    messages: Sequence[Message], *, supports_images: bool = True, **rest: Any
) -> list[Block]:
    """Return all blocks that a model is sent in order to summarise these messages."""
    model = RepeatingSummarizer("S")
    model.supports_images = supports_images
    await start_afresh(messages, model, **rest)
    return [b for request in model.requests for m in request.messages for b in m.blocks]


def words(blocks: Sequence[Block]) -> str:
    """Return all texts among some blocks."""
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


async def test_images_before_the_newest_prompt_are_not_sent() -> None:
    """The replies say what they showed, and many of them are more than a request may weigh."""
    new = Message("user", (TextBlock("now"), IMAGE))
    sent = await shown([LOOK, *chat(20)[1:], new, A], window=4_000)
    assert sent.count(IMAGE) == 1
    assert TextBlock("[Image]") in sent


@pytest.mark.parametrize("window", [100_000, 4_000], ids=["whole", "in parts"])
@pytest.mark.parametrize("supports_images", [True, False])
async def test_an_image_that_no_reply_describes_is_sent_to_a_model_that_sees(
    supports_images: bool, window: int
) -> None:
    """Whoever sent it, a user before the newest prompt or a tool: nothing else tells of it."""
    screenshot = ImageBlock({**IMAGE.source, "data": "c2NyZWVu"})
    asked, looked = user("What do they show?"), plotted(TextBlock("A plot:"), screenshot)
    one, two = (Message("assistant", call(id_).tool_uses) for id_ in ("t1", "t2"))
    messages = [*chat(20), LOOK, asked, one, looked, two, result("t2")]
    sent = await shown(messages, window=window, supports_images=supports_images)
    assert [sent.count(one) for one in (IMAGE, screenshot)] == [int(supports_images)] * 2
    assert sent.count(TextBlock("look")) == 1
    assert "[Tool Result]\nA plot:\n[Image]" in words(sent)


async def test_an_image_of_a_tool_that_a_reply_describes_is_not_sent_again() -> None:
    """Also when the same prompt is still worked on; a marker is no prompt."""
    seen = Message("assistant", (TextBlock("It shows a plot."), *call("t2").blocks))
    described = [user("Look"), call("t1"), plotted(IMAGE), seen, result("t2"), A]
    assert IMAGE not in await shown(described)
    marker = Message("user", "[2 results cleared]", tags=Tags(clear_id="c1"))
    assert IMAGE in await shown([LOOK, call("t1"), result("t1"), marker, A])


async def test_a_failed_stream_keeps_its_cost_and_is_named() -> None:
    """Also where it says nothing."""
    chunks = [UsageChunk(Usage(), Decimal("0.5")), TextChunk("half"), OSError("cut off")]
    with pytest.raises(SummaryFailed, match=r"^Condensing API call failed: cut off$") as caught:
        await start_afresh(chat(10), ScriptedSummarizer(chunks))
    assert caught.value.cost == Decimal("0.5")
    assert caught.value.details == "Error: cut off"
    with pytest.raises(SummaryFailed, match=r"^Condensing API call failed: TimeoutError$"):
        await start_afresh(chat(10), ScriptedSummarizer(TimeoutError()))


@pytest.mark.parametrize("answer", ["", "  \n\t", "<analysis>only this</analysis>"])
async def test_an_answer_without_a_summary_is_a_failure(answer: str) -> None:
    """The sentence is Roo's; what was answered is in the details."""
    chunks = [TextChunk(answer), UsageChunk(Usage(), Decimal(1))]
    with pytest.raises(SummaryFailed, match=r"^Failed to condense context$") as caught:
        await start_afresh(chat(10), ScriptedSummarizer(chunks))
    assert caught.value.cost == 1
    assert answer.strip() in caught.value.details


@pytest.mark.parametrize("caches", [False, True])
async def test_half_a_summary_is_a_failure(caches: bool) -> None:
    """Current work and next step stand at its end; what was written is in the details."""
    chunks = [TextChunk("<summary>1. Primary"), UsageChunk(Usage(), Decimal(1)), CutChunk()]
    with pytest.raises(SummaryFailed, match=r"most tokens that an answer may take$") as caught:
        await start_afresh(chat(10), ScriptedSummarizer(chunks, caches_prompts=caches))
    assert (caught.value.cost, caught.value.calls) == (1, 1)
    assert caught.value.details == "<summary>1. Primary"


async def test_what_was_discarded_is_no_part_of_the_summary() -> None:
    """A model may have thought before, and only its closing tag says so."""
    thought = TextChunk("Perhaps <summary>Draft.</summary>")
    chunks = [thought, DiscardChunk(), TextChunk("<summary>Done.</summary>")]
    reduction = await start_afresh(chat(10), ScriptedSummarizer(chunks))
    assert "Done." in str(reduction)
    assert "Draft." not in str(reduction)


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
    """Or where prompt and tools leave no room; nothing that held only then is in it."""
    model = ScriptedSummarizer("S")
    del model.caches_prompts
    await start_afresh(WORK, model, tools=TOOLS)
    assert not model.requests[0].aligned
    assert model.requests[0].tools == ()
    assert model.requests[0].system == load_prompt("summary_system")
    model = caching("S")
    await start_afresh(chat(10), model, window=4_000, system="word " * 2_000)
    assert [request.aligned for request in model.requests] == [False]
    beside = [TextBlock(f"<{kind}>", {BESIDE: {"kind": kind}}) for kind in (ENVIRONMENT, RECALLED)]
    asked = Message("user", (*beside, TextBlock("How much are the caves?")))
    sent = words(await shown([asked, A, *chat(6)]))
    assert "How much are the caves?" in sent
    assert not [kind for kind in (ENVIRONMENT, RECALLED) if f"<{kind}>" in sent]


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
    made = await bench.condense(talk(11), tools=TOOLS)
    assert [request.aligned for request in bench.summarizer.requests] == [True, False]
    assert bench.log.names == ["started", "succeeded"]
    assert made.summary == "S"
    assert made.usage == Usage(input=110, output=5, cache_read=90)
    assert made.cost == Decimal("0.4")
    assert "asked again without tools" in made.notes[0]
