"""Truncation hides the oldest half and calls no model."""

import pytest

import condense
from condense.strategies.sliding_window import SlidingWindow
from tests.condense.dialogues import (
    call,
    chat,
    numbered,
    result,
    texts,
    truncate,
    user,
)


async def test_the_oldest_half_is_hidden_behind_a_marker() -> None:
    """The first message stays; the marker says how many, where the last one stood."""
    made = await truncate(chat(11))
    assert made.hidden == ("m2", "m3", "m4", "m5")
    assert (made.kind, made.strategy) == ("truncated", "sliding_window")
    marker = condense.truncate(numbered(chat(11))).marker
    assert texts(made.message)[0] == marker.content
    assert made.message.position == marker.position == 5
    assert (made.message.is_marker, made.message.is_summary) == (True, False)
    made = await truncate(chat(21), SlidingWindow(fraction=0.25))
    assert len(made.hidden) == 4


@pytest.mark.parametrize("trigger", condense.Trigger)
async def test_it_goes_on_until_the_rest_fits(trigger: condense.Trigger) -> None:
    """Half is not enough here; the first message and the newest one stay."""
    made = await truncate(chat(21), window=1_500, trigger=trigger)
    assert len(made.hidden) == 16
    assert {"m1", "m21"}.isdisjoint(made.hidden)
    assert made.tokens_after.value <= 1_500 * 0.9 - 100
    # Never less than was asked for.
    assert len((await truncate(chat(21), SlidingWindow(0.9), window=1_500)).hidden) == 18


async def test_no_more_is_hidden_than_must_be() -> None:
    """And at last the first message goes, and the ledger."""
    made = await truncate(chat(21), trigger=condense.Trigger.FORCED)
    assert len(made.hidden) == 10
    made = await truncate(chat(21, words=50), window=1_200)
    assert made.tokens_after.value < 1_200 * 0.9 - 100 < made.tokens_before.value < 1_200 - 100
    assert len(made.hidden) == 10
    made = await truncate([user("word " * 800 + "END"), call(), result(), call("t2")], window=800)
    assert made.hidden == ("m1", "m2", "m3")
    assert texts(made.message)[-1].endswith("word END")
    # What the model has not read goes in the end, too.
    made = await truncate([user("Go."), call(), result(text="word " * 900)], window=800)
    assert made.hidden == ("m1", "m2", "m3")
    made = await truncate([*chat(4, words=400), user("word " * 820)], window=1_050)
    assert made.hidden == ("m1", "m2", "m3", "m4")
    assert len(texts(made.message)) == 1
