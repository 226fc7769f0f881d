"""Truncation hides the oldest half and calls no model."""

from collections.abc import Sequence
from typing import Any

import pytest

import condense
from condense.strategies.sliding_window import SlidingWindow
from condense.testing import ScriptedSummarizer
from tests.condense.dialogues import (
    call,
    chat,
    numbered,
    reduce_with,
    result,
    situation,
    texts,
    user,
)


async def reduce(
    messages: Sequence[condense.Message], strategy: SlidingWindow | None = None, **rest: Any
) -> condense.Reduction:
    """Return what the strategy makes of a conversation, with a model that may not be called."""
    budget = situation(messages, **rest).budget
    kit = {"is_enough": lambda made: made.tokens_after.value <= budget.allowed}
    model = ScriptedSummarizer()
    return await reduce_with(strategy or SlidingWindow(), messages, model, kit=kit, **rest)


async def test_the_oldest_half_is_hidden_behind_a_marker() -> None:
    """The first message stays; the marker says how many, where the last one stood."""
    made = await reduce(chat(11))
    assert made.hidden == ("m2", "m3", "m4", "m5")
    assert (made.kind, made.strategy) == ("truncated", "sliding_window")
    marker = condense.truncate(numbered(chat(11))).marker
    assert texts(made.message)[0] == marker.content
    assert made.message.position == marker.position == 5
    assert (made.message.is_marker, made.message.is_summary) == (True, False)
    made = await reduce(chat(21), SlidingWindow(fraction=0.25))
    assert len(made.hidden) == 4


async def test_the_marker_carries_the_facts_and_directives_of_what_it_hides() -> None:
    """History, and no request; directives too, but not those that the model still reads."""
    steps = [m for n in range(6) for m in (call(f"t{n}", f"src/a{n}.py"), result(f"t{n}"))]
    made = await reduce([user("Fix it"), *steps, *chat(2)])
    assert texts(made.message)[1] == condense.load_prompt("summary_preface")
    # A second marker hides the one that held them.
    again = await reduce([user("Fix it"), made.message, *chat(9)])
    for marker in (made.message, again.message):
        facts = condense.parse_ledger(texts(marker)[2])
        assert "src/a0.py" in str(facts.files)
    hidden, seen = (f'<command name="{name}">Tag it.</command>' for name in "ab")
    made = await reduce([user("Hello"), user(hidden), *chat(29)[1:], user(seen)])
    assert condense.command_blocks([made.message]) == (hidden,)


@pytest.mark.parametrize("trigger", condense.Trigger)
async def test_it_goes_on_until_the_rest_fits(trigger: condense.Trigger) -> None:
    """Half is not enough here; the first message and the newest one stay."""
    made = await reduce(chat(21), window=1_500, trigger=trigger)
    assert len(made.hidden) == 16
    assert {"m1", "m21"}.isdisjoint(made.hidden)
    assert made.tokens_after.value <= 1_500 * 0.9 - 100
    # Never less than was asked for.
    assert len((await reduce(chat(21), SlidingWindow(0.9), window=1_500)).hidden) == 18


async def test_no_more_is_hidden_than_must_be() -> None:
    """And at last the first message goes, and the ledger."""
    made = await reduce(chat(21), trigger=condense.Trigger.FORCED)
    assert len(made.hidden) == 10
    made = await reduce(chat(21, words=50), window=1_200)
    assert made.tokens_after.value < 1_200 * 0.9 - 100 < made.tokens_before.value < 1_200 - 100
    assert len(made.hidden) == 10
    made = await reduce([user("word " * 800 + "END"), call(), result(), call("t2")], window=800)
    assert made.hidden == ("m1", "m2", "m3")
    assert texts(made.message)[-1].endswith("word END")
    made = await reduce([*chat(4, words=400), user("word " * 820)], window=1_050)
    assert made.hidden == ("m1", "m2", "m3", "m4")
    assert len(texts(made.message)) == 1


async def test_the_newest_request_is_carried_while_it_is_worked_on() -> None:
    """Without the ledger, which holds it otherwise."""
    long = result(text="word " * 790)
    made = await reduce([*chat(4, words=400), user("Now mend it"), call(), long], window=1_050)
    assert made.hidden == ("m1", "m2", "m3", "m4", "m5")
    assert texts(made.message)[1] == "## Newest Request, Verbatim\nNow mend it"
    rest = [call(), result(), call("t2"), long]
    again = await reduce([user("Hi"), made.message, *rest], window=1_050)
    assert "m2" in again.hidden
    assert texts(again.message)[-1] == "## Newest Request, Verbatim\nNow mend it"
    asked, answered = user("word " * 4_000), condense.Message("assistant", "word " * 4_000)
    made = await reduce([*chat(2), asked, answered], window=6_000, trigger=condense.Trigger.FORCED)
    assert "m3" in made.hidden
    assert "Newest Request" not in made.message.text


async def test_what_was_not_read_goes_before_words_of_the_newest_request() -> None:
    """And stays where all else can go."""
    asked = user("word " * 200 + "middle " + "word " * 200)
    made = await reduce([*chat(2), asked, call(), result(text="word " * 400)], window=760)
    assert len(made.hidden) == 5
    assert asked.text in made.message.text
    assert "hidden before they were read" in made.message.text
    made = await reduce([*chat(4), user("Go"), call(), result(text="word " * 800)], window=1_000)
    assert made.hidden == ("m1", "m2", "m3", "m4", "m5")
    made = await reduce([*chat(2), user("word " * 900), user("Go on")], window=1_000)
    assert made.hidden == ("m1", "m2", "m3")


async def test_of_a_request_that_fits_nowhere_its_beginning_and_end_stay() -> None:
    """So that it can be told from others, and searched for."""
    asked = user("begin " + "word " * 900 + "end")
    made = await reduce([asked, call(), result(text="word " * 400)], window=300)
    assert made.tokens_after.value <= 300 - 100
    assert "Newest Request, Verbatim\nbegin word" in made.message.text
    assert made.message.text.endswith("word end")
    assert "characters left out here" in made.message.text
