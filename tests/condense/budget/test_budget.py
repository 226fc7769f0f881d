"""The window's arithmetic, where no recording covers it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from condense.budget.budget import Budget

BUDGETS = st.builds(
    Budget,
    window=st.integers(0, 2_000_000),
    max_output=st.none() | st.integers(0, 200_000),
    threshold=st.integers(5, 100),
    buffer=st.floats(0, 0.5),
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


def test_the_buffer_is_a_share_of_the_window() -> None:
    """A tenth, unless somebody trusts the estimates more, or less."""
    assert Budget(100_000, 10_000).allowed == 80_000
    assert Budget(100_000, 10_000, buffer=0).allowed == 90_000
    assert Budget(100_000, 10_000, buffer=0.25).allowed == 65_000


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
