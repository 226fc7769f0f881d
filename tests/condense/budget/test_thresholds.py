"""Who says where an automatic condensation starts, and in which order they are asked."""

import logging
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense import (
    Adaptive,
    Budget,
    Fixed,
    Message,
    PerProfile,
    Threshold,
    ThresholdQuery,
    growth_per_turn,
    with_threshold,
)
from condense.testing import WordCounter
from tests.condense.dialogues import SUMMARY, call, chat, result, user

BUDGET = Budget(100_000, 10_000)


@pytest.mark.parametrize(
    ("own", "source"),
    [
        (None, "global"),
        (-1, "global"),
        (4, "global"),
        (101, "global"),
        (math.nan, "global"),
        (5, "profile"),
        (80, "profile"),
        (100, "profile"),
    ],
)
def test_a_profile_inherits_unless_its_threshold_is_a_usable_percentage(
    own: float | None, source: str
) -> None:
    """Minus one, nothing and nonsense all mean "as everywhere"."""
    resolvers = (PerProfile({"mine": own}), Fixed(50))
    budget = with_threshold(BUDGET, resolvers, profile="mine")
    expected = 50 if source == "global" else own
    assert (budget.threshold_source, budget.threshold) == (source, expected)


@pytest.mark.parametrize(("percent", "warned"), [(3.25, True), (104.5, True), (-1, False)])
def test_a_value_out_of_range_is_passed_over_with_a_warning(
    percent: float, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, however often it is met; to inherit is no mistake."""
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        made = with_threshold(BUDGET, (PerProfile({"p": percent}), Fixed(70)), profile="p")
        assert made.threshold == 70
    said = f"The profile threshold of {percent:g} % is not between 5 and 100: not used"
    assert caplog.messages == ([said] if warned else [])


def test_whoever_is_asked_first_and_knows_decides() -> None:
    """A resolver of one's own has the shape of all the others."""

    def small_windows(query: ThresholdQuery) -> Threshold | None:
        return Threshold(60, "small") if query.budget.window < 50_000 else None

    resolvers = (small_windows, Fixed(90))
    assert with_threshold(Budget(32_000), resolvers).threshold_source == "small"
    assert with_threshold(BUDGET, resolvers).threshold == 90
    assert with_threshold(BUDGET, ()) == BUDGET


def turns_of(tokens: float, count: int = 3) -> tuple[Message, ...]:
    """Return so many turns of that size, and the beginning of one more."""
    begun = [replace(user("Go on."), tokens=0), Message("assistant", "Yes.", tokens=int(tokens))]
    return (*begun * count, user("And now?"))


def test_an_adaptive_threshold_leaves_time_for_two_more_turns() -> None:
    """80,000 tokens are allowed; turns of 10,000 leave 60,000, small ones nearly all."""
    large = turns_of(10_000)
    assert with_threshold(BUDGET, [Adaptive()], history=large).threshold == 60
    small = with_threshold(BUDGET, [Adaptive()], history=turns_of(100))
    assert small.threshold == pytest.approx(79.8)
    assert with_threshold(BUDGET, [Adaptive(turns=3)], history=large).threshold == 50
    assert with_threshold(BUDGET, [Adaptive(), Fixed(70)]).threshold_source == "global"


@given(st.integers(1, 2_000_000), st.floats(0, 1e7), st.floats(0, 10))
def test_an_adaptive_threshold_is_always_one_that_can_be_used(
    window: int, growth: float, turns: float
) -> None:
    """Whatever the growth; and never later than where a request would be too long anyway."""
    resolvers = [Adaptive(turns), Fixed(90)]
    made = with_threshold(Budget(window), resolvers, history=turns_of(growth))
    assert 5 <= made.threshold <= 100
    assert made.threshold_source == ("adaptive" if int(growth) > 0 else "global")


def test_the_growth_is_what_the_latest_turns_added_each() -> None:
    """From what the user says to what the user says next; summaries and tool results begin none."""
    counter = WordCounter()
    turns = [user("word " * 10), call(), result(text="word " * 50), *chat(1)[1:]]
    assert growth_per_turn(turns, counter) == 0
    again = [SUMMARY, *turns, *turns, user("Thanks.")]
    assert growth_per_turn(again, counter) == 10 + (3 + 10) + 50
