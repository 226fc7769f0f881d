"""Estimates come to agree with what the provider reports."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense.tokens.calibration import SLOPES, Calibration
from condense.tokens.counters import TokenCount

SIZES = st.integers(1, 2_000_000)
REPORTS = st.lists(st.tuples(SIZES, SIZES), max_size=2 * Calibration.MEMORY)
FIXED = 1_200  # what system prompt and tools take
GROWTH = st.lists(st.integers(150, 5_000), min_size=5, max_size=12)


def after(reports: list[tuple[int, int]]) -> Calibration:
    """Return what was learned from reports of (estimated, measured)."""
    calibration = Calibration()
    for estimated, measured in reports:
        calibration = calibration.observe(estimated, measured)
    return calibration


def conversation(growth: list[int], slope: float, constant: int) -> list[tuple[int, int]]:
    """Return reports of a growing conversation, as one tokenizer measures it."""
    sizes = accumulate([FIXED, *growth])
    return [(size, round(size * slope) + constant) for size in sizes]


@given(
    growth=GROWTH, slope=st.floats(0.6, 1.8), constant=st.integers(0, 400), size=st.floats(0.3, 3.0)
)
def test_another_tokenizer_is_known_after_three_turns(
    growth: list[int], slope: float, constant: int, size: float
) -> None:
    """Within 5 % for prompts from a third to three times as long: six calls, tools included."""
    reports = conversation(growth, slope, constant)
    estimate = max(FIXED, round(reports[-1][0] * size))
    expected = estimate * slope + constant
    assert after(reports).apply(estimate).value == pytest.approx(expected, rel=0.05)


@given(
    growth=st.lists(st.integers(500, 5_000), min_size=6, max_size=12),
    slope=st.floats(0.7, 1.5),
    glitch=st.floats(0.05, 20.0),
    place=st.integers(0, 5),
)
def test_one_outlier_changes_little(
    growth: list[int], slope: float, glitch: float, place: int
) -> None:
    """A provider may report nonsense once, whenever that is."""
    reports = conversation(growth, slope, 0)
    estimated, measured = reports[place]
    reports[place] = (estimated, max(1, round(measured * glitch)))
    newest = reports[-1][0]
    assert after(reports).apply(newest).value == pytest.approx(newest * slope, rel=0.05)


def test_the_latest_reports_count_most() -> None:
    """From prose to code, it is estimated as code; without one, an estimate stands."""
    prose = [(1_000 * step, 1_000 * step) for step in range(1, 9)]
    code = [(10_000 + 2_000 * step, 1.3 * (10_000 + 2_000 * step)) for step in range(8)]
    learned = after([*prose, *((size, round(measured)) for size, measured in code)])
    assert learned.apply(30_000).value == pytest.approx(39_000, rel=0.05)
    assert Calibration().apply(1_234) == TokenCount(1_234, measured=False)


@given(reports=REPORTS, sizes=st.tuples(SIZES, SIZES))
def test_whatever_is_reported_a_longer_prompt_is_estimated_longer(
    reports: list[tuple[int, int]], sizes: tuple[int, int]
) -> None:
    """Sizes are never negative, and the slope stays within reason."""
    learned = after(reports)
    small, large = (learned.apply(size).value for size in sorted(sizes))
    assert 0 <= small <= large
    assert SLOPES[0] <= learned.line.slope <= SLOPES[1]
    assert len(learned.reports) <= Calibration.MEMORY


def test_what_came_since_is_added_to_a_measured_size() -> None:
    """The sum is an estimate; without anything new it stays measured."""
    learned = after([(1_000, 2_000), (2_000, 4_000), (3_000, 6_000)])
    assert learned.extend(7_000, 500) == TokenCount(7_998, measured=False)
    assert learned.extend(7_000, 500, media=100) == TokenCount(7_898, measured=False)
    assert learned.extend(7_000, 0) == TokenCount(7_000, measured=True)
