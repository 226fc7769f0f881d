"""The window's arithmetic, where no recording covers it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense.situation import Budget

BUDGETS = st.builds(
    Budget,
    window=st.integers(0, 2_000_000),
    max_output=st.none() | st.integers(0, 200_000),
    threshold=st.integers(5, 100),
    profile_threshold=st.none() | st.integers(-1, 120),
)


@given(BUDGETS)
def test_condenses_at_is_the_smallest_count_that_triggers(budget: Budget) -> None:
    """For every window, reserve and threshold."""
    at = budget.condenses_at
    assert budget.reason(at) is not None
    assert at == 0 or budget.reason(at - 1) is None


@given(BUDGETS, st.integers(0, 3_000_000))
def test_used_reserved_and_available_are_the_window(budget: Budget, tokens: int) -> None:
    """And nothing is available where the context and the reply are larger than that."""
    left = budget.available(tokens)
    assert left == 0 or tokens + budget.reserved + left == budget.window
    assert (left > 0) == (tokens < budget.capacity)


@pytest.mark.parametrize(
    ("own", "source"),
    [
        (None, "global"),
        (-1, "global"),
        (4, "global"),
        (101, "global"),
        (5, "profile"),
        (80, "profile"),
    ],
)
def test_a_profile_inherits_unless_its_threshold_is_a_usable_percentage(
    own: float | None, source: str
) -> None:
    """Minus one, nothing and nonsense all mean "as everywhere"."""
    budget = Budget(100_000, threshold=50, profile_threshold=own)
    assert budget.threshold_source == source
    assert budget.effective_threshold == (own if source == "profile" else 50)


def test_the_reason_says_which_rule_fired() -> None:
    """The user's threshold, or the window itself."""
    budget = Budget(100_000, 10_000, threshold=50)
    assert budget.reason(49_999) is None
    assert budget.reason(50_000) == "threshold"
    assert budget.reason(80_000, automatic=False) is None
    assert budget.reason(80_001, automatic=False) == "allowed"
    assert Budget(100_000, 10_000).reason(80_001) == "allowed"


def test_an_unknown_output_limit_reserves_the_default() -> None:
    """Nothing and zero are both unknown."""
    assert Budget(100_000).reserved == Budget(100_000, 0).reserved == 8192


def test_a_window_of_zero_is_full_as_soon_as_it_holds_anything() -> None:
    """No division error, whatever a provider reports."""
    assert math.isnan(Budget(0).percent(0))
    assert Budget(0).percent(1) == math.inf
    assert Budget(0).should_condense(1, automatic=True)
