"""Each summary stays as it is beside the earlier ones, and of too many, two are merged."""

from dataclasses import replace

from condense import Reduction
from condense.strategies.layers import Layers
from condense.testing import ScriptedSummarizer
from tests.condense.dialogues import chat, reduce_with, start_afresh, texts

HEADING = "## Part of the Summary, Merged {} Times\n"


async def rounds(
    model: ScriptedSummarizer, count: int, strategy: Layers | None = None
) -> list[Reduction]:
    """Return what so many condensations make of a chat that goes on after each of them."""
    made: list[Reduction] = []
    for number in range(count):
        start = [made[-1].message] if made else []
        news = [replace(one, content=f"{one.text} round{number}") for one in chat(4)]
        made.append(await reduce_with(strategy or Layers(), [*start, *news], model))
    return made


def layers_of(made: Reduction) -> list[str]:
    """Return the parts of the summary that the model reads."""
    return [text for text in texts(made.message) if text.startswith("## Part of the Summary")]


async def test_an_earlier_summary_stays_and_is_not_summarised() -> None:
    """The model is shown what came after it; the first one is a summary as any other."""
    model = ScriptedSummarizer("A", "B")
    _, made = await rounds(model, 2)
    assert layers_of(made) == [HEADING.format(0) + "A", HEADING.format(0) + "B"]
    assert made.hidden == ("m1", "m2", "m3", "m4", "m5")
    asked = model.requests[1].messages
    assert "Part of the Summary" not in str([one.to_api() for one in asked])
    assert "round1" in asked[0].text
    assert "summarised already" in asked[-1].text
    (made,) = await rounds(ScriptedSummarizer("A"), 1)
    assert layers_of(made) == [HEADING.format(0) + "A"]
    assert (made.kind, made.strategy, made.summary) == ("condensed", "layers", "A")
    assert texts(made.message)[0].startswith("## Conversation Summary\nThis is the earlier part")


async def test_of_too_many_the_two_of_lowest_rank_are_merged() -> None:
    """In one more call, which reads only those two."""
    model = ScriptedSummarizer("A", "B", "C", "A and B", "D", "C and D")
    made = await rounds(model, 4, Layers(most=2))
    assert layers_of(made[2]) == [HEADING.format(1) + "A and B", HEADING.format(0) + "C"]
    assert model.requests[3].messages[0].text.startswith("A\nB")
    assert layers_of(made[3]) == [HEADING.format(1) + "A and B", HEADING.format(1) + "C and D"]


async def test_a_merge_that_fails_leaves_one_more() -> None:
    """What was written is not lost for it."""
    model = ScriptedSummarizer("A", "B", OSError("no"))
    made = await rounds(model, 2, Layers(most=1))
    assert len(layers_of(made[1])) == 2
    assert "merging two of them failed" in made[1].notes[0]


async def test_a_summary_by_another_strategy_is_the_first_layer() -> None:
    """Who changes the strategy loses nothing."""
    first = await start_afresh(chat(4), ScriptedSummarizer("<summary>Whole</summary>"))
    made = await reduce_with(Layers(), [first.message, *chat(4)], ScriptedSummarizer("B"))
    assert layers_of(made) == [HEADING.format(0) + "Whole", HEADING.format(0) + "B"]
