"""Where the provider can, it compacts the history itself; its block goes first, unchanged."""

from typing import Any

import pytest

import condense
from condense.summaries.writer import flatten
from condense.testing import ScriptedSummarizer
from tests.condense.bench import COMPACTED, COMPACTION, Bench, talk
from tests.condense.dialogues import chat, reduce_with, situation


def able(*replies: Any) -> ScriptedSummarizer:
    """Return a model whose provider compacts."""
    return ScriptedSummarizer(*(replies or (COMPACTED,)), compacts=True)


async def test_the_block_stands_first_and_unchanged() -> None:
    """What the engine says stands after it; whoever else reads it is given its text."""
    made = await reduce_with(condense.load_strategy("provider"), chat(4), able())
    first, second = made.message.blocks
    assert first == condense.OpaqueBlock(COMPACTION)
    assert isinstance(second, condense.TextBlock)
    assert second.text.startswith("## Conversation Summary\n")
    assert (made.kind, made.strategy, made.summary) == ("condensed", "provider", "What was said.")
    assert made.message.text.startswith("What was said.\n")
    assert made.prompt
    (flat,) = flatten([made.message], supports_images=True)
    assert flat.blocks[0] == condense.TextBlock("What was said.")
    assert condense.without_compaction(flat) is flat
    later = await reduce_with(
        condense.load_strategy("layers"), [made.message, *chat(4)], ScriptedSummarizer("B")
    )
    assert "What was said." in later.message.text


async def test_the_request_is_the_conversations_own_and_no_message_more() -> None:
    """The instruction stands beside them."""
    model = able()
    strategy = condense.load_strategy("provider")
    tools = ({"name": "read_file", "description": "", "input_schema": {"type": "object"}},)
    await reduce_with(strategy, chat(4), model, system="Be kind.", tools=tools)
    (asked,) = model.requests
    assert (asked.system, asked.tools, asked.aligned) == ("Be kind.", tools, True)
    assert [one.text.strip() for one in asked.messages] == [one.text.strip() for one in chat(4)]
    assert asked.compaction == strategy.prompt_for(situation(chat(4)))
    assert "no <analysis> block" in asked.compaction


async def test_a_model_without_it_is_not_asked_and_the_ladder_goes_on() -> None:
    """To a summary by the model, which every model can write."""
    with pytest.raises(condense.NothingToCondense):
        await reduce_with(condense.load_strategy("provider"), chat(4), ScriptedSummarizer())
    ladder = condense.ladder_from("provider")
    assert ladder == ("provider", "fresh_start", "ledger", "sliding_window")
    bench = Bench("<summary>S</summary>", strategies=ladder)
    made = await bench.condense(talk(11))
    assert (made.strategy, bench.calls) == ("fresh_start", 1)
    assert bench.failures == [(condense.NothingToCondense, "fresh_start")]


async def test_what_does_not_fit_into_one_call_is_not_sent() -> None:
    """A provider compacts all it is shown, or nothing; words without a block are none, and paid."""
    model, strategy = able(), condense.load_strategy("provider")
    with pytest.raises(condense.NothingToCondense):
        await reduce_with(strategy, talk(11), model, window=20_000)
    assert not model.requests
    with pytest.raises(condense.SummaryFailed) as caught:
        await reduce_with(strategy, chat(4), able("What was said."))
    assert caught.value.calls == 1
