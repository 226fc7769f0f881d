"""The ladder: which strategy is tried when, and what is done where nothing helps."""

from dataclasses import replace
from decimal import Decimal

import pytest

from condense import (
    CannotFit,
    DidNotShrink,
    Kit,
    NothingToCondense,
    Reduction,
    Situation,
    SummaryFailed,
    TextChunk,
    TokenCount,
    Trigger,
    Usage,
    UsageChunk,
)
from condense.strategies.ledger import LedgerAlone
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import SUMMARY, situation, start_afresh, user

AUTO, FORCED, MANUAL = Trigger.AUTO, Trigger.FORCED, Trigger.MANUAL
PAID = UsageChunk(Usage(input=7), Decimal("0.25"))
HUGE = "word " * 100_000


async def test_below_the_threshold_an_automatic_run_does_nothing() -> None:
    """No attempt, no row, no call."""
    bench = Bench()
    assert await bench.fit(talk(4)) is None
    assert bench.log.events == []


async def test_at_the_threshold_an_automatic_run_summarises() -> None:
    """14,000 of 26,000 words are more than the fifty percent that are set."""
    made = await Bench("S").fit(talk(7))
    assert made is not None
    assert made.kind == "condensed"


@pytest.mark.parametrize("trigger", [FORCED, MANUAL])
async def test_forced_and_manual_runs_do_not_ask_the_budget(trigger: Trigger) -> None:
    """The provider's word counts, and so does the user's."""
    made = await Bench("S").fit(talk(4), window=1_000_000, trigger=trigger)
    assert made is not None
    assert made.kind == "condensed"


async def test_with_the_switch_off_nothing_is_done_below_the_limit() -> None:
    """The threshold is the switch's."""
    assert await Bench().fit(talk(11), automatic=False) is None


@pytest.mark.parametrize("trigger", [AUTO, FORCED])
async def test_with_the_switch_off_messages_are_only_truncated(trigger: Trigger) -> None:
    """The user does not want to pay for summaries."""
    bench = Bench()
    made = await bench.fit(talk(12), automatic=False, trigger=trigger)
    assert made is not None
    assert made.kind == "truncated"
    assert bench.calls == 0


async def test_the_switch_does_not_bind_a_manual_run() -> None:
    """Whoever presses the button wants a summary."""
    made = await Bench("S").fit(talk(4), automatic=False, trigger=MANUAL)
    assert made is not None
    assert made.kind == "condensed"


async def test_over_the_limit_a_failed_summary_falls_back_to_the_facts() -> None:
    """The request has to be sent, and they need no model."""
    bench = Bench(OSError("no"))
    made = await bench.fit(talk(12))
    assert made is not None
    assert (made.kind, made.strategy) == ("condensed", "ledger")
    assert bench.failures == [(SummaryFailed, "ledger")]
    assert bench.log.names == ["started", "failed", "started", "succeeded"]


class UselessLedger(LedgerAlone):
    """Finds as many facts as there were words."""

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Fail for it."""
        raise DidNotShrink("The context would not get smaller")


async def test_what_facts_do_not_make_smaller_is_truncated() -> None:
    """One rung further down."""
    bench = Bench(OSError("no"), strategies=["fresh_start", UselessLedger(), "sliding_window"])
    made = await bench.fit(talk(12))
    assert made is not None
    assert made.kind == "truncated"
    assert bench.failures == [(SummaryFailed, "ledger"), (DidNotShrink, "sliding_window")]


async def test_below_the_limit_a_failed_summary_truncates_nothing() -> None:
    """The request still fits as it is."""
    bench = Bench(OSError("no"))
    assert await bench.fit(talk(11)) is None
    assert bench.failures == [(SummaryFailed, None)]


async def test_a_forced_run_goes_on_although_the_estimate_is_below_the_limit() -> None:
    """The estimate was wrong: the request was refused."""
    bench = Bench(OSError("no"))
    assert await bench.fit(talk(8), trigger=FORCED)
    assert bench.failures == [(SummaryFailed, "ledger")]


async def test_a_manual_run_fails_with_the_reason_and_truncates_nothing() -> None:
    """Nobody pressed "truncate", and whoever pressed "condense" can try again."""
    bench = Bench(OSError("no"))
    with pytest.raises(SummaryFailed, match="Condensing API call failed: no"):
        await bench.fit(talk(12), trigger=MANUAL)
    assert bench.failures == [(SummaryFailed, None)]


async def test_too_few_messages_fail_a_manual_run_with_roos_sentence() -> None:
    """And the attempt is on record."""
    bench = Bench()
    with pytest.raises(NothingToCondense, match="Not enough messages to condense context"):
        await bench.fit(talk(1), trigger=MANUAL)
    assert bench.failures == [(NothingToCondense, None)]


async def test_nothing_new_below_the_limit_is_not_reported_on_every_request() -> None:
    """With a low threshold that would be a failure before each reply."""
    bench = Bench()
    assert await bench.fit([SUMMARY, user("word " * 15_000)]) is None
    assert bench.log.events == []


async def test_a_summary_that_does_not_shrink_is_rolled_back() -> None:
    """What it cost is kept, and the next rung runs."""
    bench = Bench([TextChunk(HUGE), PAID])
    made = await bench.fit(talk(12))
    assert made is not None
    assert made.strategy == "ledger"
    assert bench.failures == [(DidNotShrink, "ledger")]
    assert bench.log.of("failed")[0][0].cost == Decimal("0.25")


async def test_a_summary_as_large_as_what_it_hides_is_rolled_back() -> None:
    """It would only cost."""
    frame = (await start_afresh(talk(2))).tokens_after.value - 1
    bench = Bench("word " * (4_000 - frame))
    with pytest.raises(DidNotShrink, match="would not get smaller: 4,000 → 4,000 tokens"):
        await bench.fit(talk(2), trigger=MANUAL)


async def test_a_forced_summary_that_is_still_too_large_is_rolled_back() -> None:
    """A tenth smaller is not enough there."""
    bench = Bench("word " * 21_310)
    made = await bench.fit(talk(13), trigger=FORCED)
    assert made is not None
    assert made.strategy == "ledger"
    assert bench.failures == [(DidNotShrink, "ledger")]


async def test_shrinking_is_judged_by_one_counter() -> None:
    """A measured size before and an estimate after would prove nothing."""
    measured = TokenCount(1_000_000, measured=True)
    bench = Bench(HUGE)
    with pytest.raises(DidNotShrink):
        await bench.fit(talk(12), trigger=MANUAL, tokens=measured)


async def test_sizes_are_reported_in_the_callers_unit() -> None:
    """Where the provider measured twice the estimate, the estimate afterwards is doubled too."""
    made = await Bench("S").fit(talk(12), window=60_000, tokens=TokenCount(48_000, measured=True))
    assert made is not None
    assert made.tokens_before == TokenCount(48_000, measured=True)
    assert made.tokens_after == TokenCount(2 * (made.message.tokens or 0))


async def test_what_cannot_fit_is_refused_with_its_sizes() -> None:
    """A person can see which part is too large."""
    bench = Bench()
    with pytest.raises(CannotFit) as caught:
        await bench.fit([user("word " * 90_000)], system="be kind", tools=({"name": "a b c"},))
    assert str(caught.value) == (
        "Nothing more can be hidden to make the context fit: system prompt 2 + tools 19 + "
        "pinned 0 + newest message 90,000 tokens, and 23,300 are allowed. "
        "Send the newest message in smaller parts, or choose a model with more room."
    )
    assert "Not enough messages to condense context" in caught.value.details


async def test_the_cost_of_all_that_failed_is_on_the_last_error() -> None:
    """Nothing that was paid for is forgotten."""
    bench = Bench([PAID, OSError("no")], strategies=["fresh_start", "sliding_window"])
    with pytest.raises(CannotFit) as caught:
        await bench.fit([*talk(2), user("word " * 90_000)])
    assert caught.value.cost == Decimal("0.25")


@pytest.mark.parametrize("trigger", [AUTO, FORCED])
async def test_without_fallbacks_a_failed_summary_call_is_reported_as_what_it_was(
    trigger: Trigger,
) -> None:
    """Much could be hidden, had the model answered."""
    bench = Bench([PAID, OSError("no route")], strategies=["fresh_start"])
    with pytest.raises(SummaryFailed, match="API call failed: no route") as caught:
        await bench.fit(talk(13), trigger=trigger)
    assert (caught.value.cost, caught.value.calls) == (Decimal("0.25"), 1)


@pytest.mark.parametrize("trigger", [AUTO, FORCED])
async def test_an_empty_history_that_is_too_large_is_refused(trigger: Trigger) -> None:
    """System prompt and tools alone may not fit."""
    with pytest.raises(CannotFit, match=r"system prompt 30,000 \+ tools 0 \+ pinned 0"):
        await Bench().fit([], system="word " * 30_000, trigger=trigger)


async def test_an_automatic_run_that_fails_within_the_safety_margin_lets_the_request_go() -> None:
    """A tenth of the window is kept for errors of estimation; 23,500 words may well fit."""
    assert await Bench().fit([user("word " * 23_500)]) is None


async def test_a_forced_run_never_lets_the_same_request_go_again() -> None:
    """It was refused already."""
    with pytest.raises(CannotFit):
        await Bench().fit([user("word " * 100)], trigger=FORCED)


class Id(str):
    """An id that counts what it is compared with."""

    __slots__ = ()
    __hash__ = str.__hash__
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        """Compare, and count it."""
        Id.comparisons += 1
        return str.__eq__(self, other)


async def test_no_message_is_looked_for_among_all_that_are_hidden() -> None:
    """Or the longest histories would take minutes: each id is compared a few times at most."""
    long = situation(talk(400, 200))
    history = [replace(message, id=Id(message.id)) for message in long.effective]
    await Bench("S").condenser.fit(replace(long, effective=history))
    assert Id.comparisons < 10 * len(history)
