"""What the model reads instead of the hidden messages."""

import pytest

from condense import SummaryFailed, Tags, Trigger, load_prompt
from condense.testing import ScriptedSummarizer, WordCounter
from tests.condense.dialogues import WORDS, chat, numbered, start_afresh, texts, user


async def test_the_summary_stands_under_its_preface_without_its_analysis() -> None:
    """That is on record."""
    made = await start_afresh(chat(10))
    assert texts(made.message) == [
        f"## Conversation Summary\n{load_prompt('summary_preface')}\n\nS"
    ]
    assert made.message.role == "user"
    assert made.message.tags.condense_id
    assert made.message.seq == 0
    made = await start_afresh(
        chat(10), ScriptedSummarizer("<analysis>A</analysis><summary>S</summary>")
    )
    assert (made.summary, made.analysis) == ("S", "A")
    assert "<" not in made.message.text


async def test_directives_of_all_hidden_messages_survive_the_newest_of_each_name() -> None:
    """Also those that a truncation hid before, and those of rewound messages not."""
    history = numbered(
        [
            user('<command name="a">old</command>'),
            user('<command name="b">b</command>').with_tags(truncation_parent="t"),
            user('<command name="a">new</command>'),
            user('<command name="x">gone</command>').with_tags(rewind_parent="r"),
            *chat(4),
            user('<command name="c">stays</command>'),
        ]
    )
    effective = tuple(m for m in history if m.tags == Tags())
    made = await start_afresh(chat(1), effective=effective, history=history)
    assert texts(made.message)[1] == (
        "<system-reminder>\n## Active Workflows\n"
        "The following directives must be maintained across all future condensings:\n"
        '<command name="a">new</command>\n<command name="b">b</command>\n</system-reminder>'
    )


@pytest.mark.parametrize(
    ("trigger", "gathered"), [(Trigger.AUTO, 1), (Trigger.FORCED, 1), (Trigger.MANUAL, 0)]
)
async def test_the_environment_is_gathered_only_where_it_is_used(
    trigger: Trigger, gathered: int
) -> None:
    """Gathering has effects, and a manual run is followed by a new message anyway."""
    calls: list[str] = []

    async def gather() -> str:
        calls.append("")
        return " env "

    made = await start_afresh(chat(10), trigger=trigger, environment=gather)
    assert len(calls) == gathered
    assert (" env " in texts(made.message)) is bool(gathered)


async def test_an_environment_that_cannot_be_gathered_costs_no_summary() -> None:
    """It is missing, and that is noted; without a summary nothing is gathered in vain."""
    asked: list[str] = []

    async def gather() -> str:
        asked.append("")
        raise OSError("no terminal")

    with pytest.raises(SummaryFailed):
        await start_afresh(chat(10), ScriptedSummarizer(ValueError("no")), environment=gather)
    assert not asked

    made = await start_afresh(chat(10), environment=gather)
    assert made.notes == ("The environment's details are missing: no terminal",)


async def test_sizes_are_of_the_whole_request() -> None:
    """System prompt and tools stay, so they count before and after."""
    made = await start_afresh(chat(10), system="be kind", tools=({"name": "a b c"},))
    assert made.tokens_before.value == 10 * WORDS + 2
    assert made.message.tokens == WordCounter().count(made.message.content)
    assert made.tokens_after.value == pytest.approx(made.message.tokens + 2 + 3, abs=1)
