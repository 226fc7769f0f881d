"""The ladder: which strategy is tried when, and what is done where nothing helps."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

import condense
from condense.testing import ScriptedSummarizer, WordCounter
from tests.condense.api_rules import assert_valid_request
from tests.condense.bench import PAID, Bench, talk
from tests.condense.dialogues import SUMMARY, chat, numbered, start_afresh, user

AUTO, FORCED, MANUAL = condense.Trigger.AUTO, condense.Trigger.FORCED, condense.Trigger.MANUAL
HUGE = "word " * 100_000


# Replies of the model, messages, how the run is asked for, what it made, and what failed before.
FAILED, NO_CALL = [OSError("no")], list[object]()
RUNS: dict[str, tuple[list[object], int, dict[str, object], str, list[object]]] = {
    "below the threshold nothing is done": (NO_CALL, 4, {}, "", []),
    "at the threshold a summary is made": (["S"], 7, {}, "fresh_start", []),
    "a refused request asks no budget": (
        ["S"], 4, {"window": 1_000_000, "trigger": FORCED}, "fresh_start", []
    ),
    "with the switch off nothing is done below the limit": (
        NO_CALL, 11, {"automatic": False}, "", []
    ),
    "over it messages are only truncated": (
        NO_CALL, 12, {"automatic": False}, "sliding_window", []
    ),
    "over the limit facts stand for a failed summary": (
        FAILED, 12, {}, "ledger", [(condense.SummaryFailed, "ledger")]
    ),
    "below the limit a failed summary truncates nothing": (
        FAILED, 11, {}, "", [(condense.SummaryFailed, None)]
    ),
    "of a refused request a tenth less is not enough": (
        ["word " * 21_310], 13, {"trigger": FORCED}, "ledger", [(condense.DidNotShrink, "ledger")]
    ),
    "after a failed call in the same turn no model is asked": (
        NO_CALL, 12, {"may_ask": False}, "ledger", []
    ),
    "nor is anything done below the limit": (NO_CALL, 11, {"may_ask": False}, "", []),
    "one message since the newest try is not enough": (NO_CALL, 8, {"condensed_at": 7}, "", []),
    "two are": (["S"], 8, {"condensed_at": 6}, "fresh_start", []),
    "too near but too large, no model is asked": (NO_CALL, 12, {"condensed_at": 12}, "ledger", []),
    "after an undo nothing is done before two more": (NO_CALL, 8, {"undone_at": 7}, "", []),
    "unless it is too large, where a summary is made again": (
        ["S"], 12, {"undone_at": 12}, "fresh_start", []
    ),
    "the button keeps no distance": (
        ["S"], 6, {"condensed_at": 6, "trigger": MANUAL}, "fresh_start", []
    ),
    **{
        f"{rung} needs no emergency where it was chosen ({trigger})": (
            NO_CALL, 8, {"strategies": condense.ladder_from(rung), "trigger": trigger}, rung, []
        )
        for rung, trigger in (("ledger", MANUAL), ("sliding_window", AUTO))
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "count", "rest", "made_by", "failures"), RUNS.values(), ids=RUNS
)
async def test_which_strategy_is_tried_when(
    replies: list[object], count: int, rest: dict[str, object], made_by: str, failures: list[object]
) -> None:
    """And each try is on record; where nothing is due, nothing is."""
    options = {"strategies": rest["strategies"]} if "strategies" in rest else {}
    bench = Bench(*replies, **options)
    made = await bench.fit(talk(count), **{key: rest[key] for key in rest if key not in options})
    assert (made.strategy if made else "") == made_by
    assert bench.failures == failures
    tries = ["started", "failed"] * len(failures)
    assert bench.log.names == [*tries, *(["started", "succeeded"] if made else [])]
    assert bench.calls == len(replies)


async def test_a_manual_run_fails_with_the_reason_and_truncates_nothing() -> None:
    """Whoever pressed "condense" can try again; each attempt is on record."""
    cases = [
        (Bench(OSError("no")), 12, condense.SummaryFailed, "Condensing API call failed: no"),
        (Bench(), 1, condense.NothingToCondense, "Not enough messages to condense context"),
    ]
    for bench, count, error, said in cases:
        with pytest.raises(error, match=said):
            await bench.condense(talk(count))
        assert bench.failures == [(error, None)]


async def test_nothing_new_below_the_limit_is_not_reported_on_every_request() -> None:
    """With a low threshold that would be a failure before each reply."""
    bench = Bench()
    assert await bench.fit([SUMMARY, user("word " * 15_000)]) is None
    assert bench.log.events == []


async def test_a_summary_that_does_not_shrink_is_rolled_back() -> None:
    """What it cost is kept, and the next rung runs; one as large as what it hides only costs."""
    bench = Bench([condense.TextChunk(HUGE), PAID])
    made = await bench.fit(talk(12))
    assert made.strategy == "ledger"
    assert bench.failures == [(condense.DidNotShrink, "ledger")]
    assert bench.log.of("failed")[0][0].cost == Decimal("0.25")
    frame = (await start_afresh(talk(2))).tokens_after.value - 1
    bench = Bench("word " * (4_000 - frame))
    with pytest.raises(condense.DidNotShrink, match="would not get smaller: 4,000 → 4,000 tokens"):
        await bench.condense(talk(2))
    # A measured size before and an estimate after would prove nothing.
    measured = condense.TokenCount(1_000_000, measured=True)
    with pytest.raises(condense.DidNotShrink):
        await Bench(HUGE).condense(talk(12), tokens=measured)


async def test_sizes_are_reported_in_the_callers_unit() -> None:
    """Where the provider measured twice the estimate, the estimate afterwards is doubled too."""
    made = await Bench("S").fit(
        talk(12), window=60_000, tokens=condense.TokenCount(48_000, measured=True)
    )
    assert made.tokens_before == condense.TokenCount(48_000, measured=True)
    assert made.tokens_after == condense.TokenCount(2 * (made.message.tokens or 0))


async def test_what_cannot_fit_is_refused_with_its_sizes() -> None:
    """A person can see which part is too large, and nothing that was paid for is forgotten."""
    bench = Bench([PAID, OSError("no")], strategies=["fresh_start", "sliding_window"])
    with pytest.raises(condense.CannotFit) as caught:
        await bench.fit([*talk(2), user("word " * 90_000)])
    assert caught.value.cost == Decimal("0.25")
    bench = Bench()
    with pytest.raises(condense.CannotFit) as caught:
        await bench.fit([user("word " * 90_000)], system="be kind", tools=({"name": "a b c"},))
    assert str(caught.value) == (
        "Nothing more can be hidden to make the context fit: system prompt 2 + tools 19 + "
        "pinned 0 + newest message 90,000 tokens, and 23,300 are allowed. "
        "Send the newest message in smaller parts, or choose a model with more room."
    )
    assert "Not enough messages to condense context" in caught.value.details
    with pytest.raises(condense.CannotFit, match=r"system prompt 30,000 \+ tools 0 \+ pinned 0"):
        await Bench().fit([], system="word " * 30_000)
    # What was refused is not sent again.
    with pytest.raises(condense.CannotFit):
        await Bench().fit([user("word " * 100)], trigger=FORCED)


@pytest.mark.parametrize("trigger", [AUTO, FORCED])
async def test_without_fallbacks_a_failed_summary_call_is_reported_as_what_it_was(
    trigger: condense.Trigger,
) -> None:
    """Much could be hidden, had the model answered."""
    bench = Bench([PAID, OSError("no route")], strategies=["fresh_start"])
    with pytest.raises(condense.SummaryFailed, match="API call failed: no route") as caught:
        await bench.fit(talk(13), trigger=trigger)
    assert (caught.value.cost, caught.value.calls) == (Decimal("0.25"), 1)


async def test_a_whole_history_is_condensed_without_losing_a_message() -> None:
    """The model sees the summary, undo brings all back, and not due gives the very object."""

    async def made_of(history: Sequence[condense.Message], **rest: Any) -> condense.Condensed:
        model = ScriptedSummarizer("S")
        return await condense.condense(history, summarizer=model, counter=WordCounter(), **rest)

    history = numbered([*chat(10), user("and now?")])
    made = await made_of(history)
    assert made.reduction is not None
    seen = condense.effective_history(made.messages)
    assert [m.is_summary for m in seen] == [True, False]
    assert {m.id for m in history} < {m.id for m in made.messages}
    assert_valid_request([m.to_api() for m in condense.shape_request(seen)])
    back = condense.undo(made.messages, made.reduction.message.tags.condense_id or "")
    assert [m.id for m in condense.effective_history(back)] == [m.id for m in history]
    made = await made_of(history, trigger=condense.Trigger.AUTO)
    assert made.messages is history
    assert made.reduction is None


async def expected(strategy: str, *, caches: bool) -> condense.Usage:
    """Return what the first attempt of a manual run says that it may take."""
    model = ScriptedSummarizer("<summary>Told.</summary>", caches_prompts=caches)
    bench = Bench(summarizer=model, strategies=(strategy,))
    history = [*chat(10, 400), user("word " * 400)]
    await bench.condense(history, window=100_000, system="You help. " * 150)
    attempt: condense.Attempt = bench.log.of("started")[0]
    return attempt.expected


async def test_what_the_model_has_read_is_read_again() -> None:
    """From the cache where there is one, as plain text where not; the new message in neither."""
    cached = await expected("fresh_start", caches=True)
    sent = await expected("fresh_start", caches=False)
    assert cached.cache_read == 10 * 400 + 300
    assert cached.input < 1_000
    assert sent.cache_read == 0
    assert 4_000 < sent.input < 5_000
    assert 0 < cached.output == sent.output <= 100
    assert await expected("ledger", caches=True) == condense.Usage()
