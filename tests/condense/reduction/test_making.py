"""What stands for a part of a history is one message, with what is pinned there."""

import pytest

from condense import Content, TextBlock, load_strategy
from condense.budget.situation import Gauge
from condense.messages import Tags
from condense.reduction.strategy import Kit, make_reduction
from condense.testing import ScriptedSummarizer, WordCounter
from tests.condense.dialogues import chat, situation


async def _unheard(_text: str) -> None:
    """Nothing is written here."""


@pytest.mark.parametrize("content", ["A line.", (TextBlock("A line."),)])
def test_what_is_pinned_follows_the_text_in_blocks_of_its_own(content: Content) -> None:
    """However that text was given; without a pin it stays as it was."""
    messages = chat(4)
    messages[1] = messages[1].with_tags(pinned=True)
    gauge = Gauge(situation(messages), WordCounter())
    kit = Kit(
        summarizer=ScriptedSummarizer(),
        counter=WordCounter(),
        new_id=lambda: "made",
        on_text=_unheard,
    )
    strategy, tags = load_strategy("sliding_window"), Tags(truncation_id="t")
    effective = gauge.situation.effective
    made = make_reduction(strategy, effective[:3], content, tags, gauge=gauge, kit=kit)
    first, second = made.message.blocks
    assert first == TextBlock("A line.")
    assert isinstance(second, TextBlock)
    assert messages[1].text in second.text
    plain = make_reduction(strategy, effective[2:], content, tags, gauge=gauge, kit=kit)
    assert plain.message.content == content
