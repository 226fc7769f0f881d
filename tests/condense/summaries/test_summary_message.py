"""What the model reads instead of the hidden messages."""

import pytest

from condense import Tags, load_prompt
from condense.testing import ScriptedSummarizer, WordCounter
from tests.condense.dialogues import WORDS, chat, numbered, start_afresh, texts, user


async def test_the_summary_stands_under_its_preface_without_its_analysis() -> None:
    """That is on record; sizes are of the whole request, system prompt and tools included."""
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
    made = await start_afresh(chat(10), system="be kind", tools=({"name": "a b c"},))
    assert made.tokens_before.value == 10 * WORDS + 2
    assert made.message.tokens == WordCounter().count(made.message.content)
    assert made.tokens_after.value == pytest.approx(made.message.tokens + 2 + 3, abs=1)


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
