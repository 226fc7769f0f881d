"""When a run may start, what counts as progress, and that no model is asked twice in vain."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

import condense
from condense.reduction.strategy import ByModel, ByRule, make_reduction
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import SUMMARY, call, result, situation, user

FORCED, MANUAL = condense.Trigger.FORCED, condense.Trigger.MANUAL
MARKER = condense.Message("user", "[1 message hidden]", tags=condense.Tags(truncation_id="t1"))


class Second(ByModel):
    """Another strategy that asks the model."""

    name = "second"

    async def reduce(self, situation: condense.Situation, kit: object) -> condense.Reduction:
        """Fail the test: it may not be reached."""
        raise AssertionError("a second model call in one run")


async def test_a_summary_has_to_take_a_tenth_of_the_history_away() -> None:
    """Not of the floor."""
    assert await Bench("word " * 3_500).condense(talk(2))
    with pytest.raises(condense.DidNotShrink, match="would hardly get smaller"):
        await Bench("word " * 3_700).condense(talk(2))
    made = await Bench("word " * 3_000).condense(talk(2), system="word " * 50_000)
    assert made is not None


class Rewrite(ByRule):
    """Has so many words stand for all that was read."""

    name, kind = "rewrite", "condensed"

    def __init__(self, words: int) -> None:
        self.words = words

    async def reduce(self, situation: condense.Situation, kit: condense.Kit) -> condense.Reduction:
        """Say them."""
        gauge, said = condense.Gauge(situation, kit.counter), "word " * self.words
        tags = condense.Tags(condense_id=kit.new_id())
        return make_reduction(self, situation.effective, said, tags, gauge=gauge, kit=kit)


@pytest.mark.parametrize(("words", "fits"), [(23_300, True), (23_301, False)])
async def test_what_a_refused_request_becomes_may_fill_what_is_allowed(
    words: int, fits: bool
) -> None:
    """To the last of 23,300 words; with one more, the next rung runs."""
    bench = Bench(strategies=[Rewrite(words), "ledger"])
    made = await bench.fit(talk(14), trigger=FORCED)
    assert made.strategy == ("rewrite" if fits else "ledger")


async def test_a_truncation_that_gains_little_is_left_where_the_request_fits() -> None:
    """It takes a tenth, as any other rung, unless there is no other way on."""
    history = [user("word " * 18_000), *talk(9, words=400)[1:]]
    bench = Bench(strategies=["sliding_window"])
    assert await bench.fit(history) is None
    assert [error for error, _ in bench.failures] == [condense.DidNotShrink]
    assert await bench.fit(history, system="word " * 5_500) is not None


async def test_after_a_failed_call_no_other_strategy_asks_the_model() -> None:
    """In that turn; where none was made, the next one may."""
    bench = Bench(OSError("no"), strategies=["fresh_start", Second(), "sliding_window"])
    made = await bench.fit(talk(12))
    assert made.strategy == "sliding_window"
    assert bench.failures == [(condense.SummaryFailed, "sliding_window")]
    bench = Bench("S", strategies=["sliding_window", "fresh_start"])
    made = await bench.fit([*talk(2, words=10_000), user("word " * 5_000)])
    assert made.strategy == "fresh_start"


@pytest.mark.parametrize(
    ("messages", "due"),
    [
        ([SUMMARY, condense.Message("assistant", "word " * 14_000), user("a")], True),
        ([SUMMARY, condense.Message("assistant", "ok"), user("and")], False),
        ([SUMMARY, condense.Message("assistant", "word " * 1_200), user("word " * 100)], True),
        ([SUMMARY, condense.Message("assistant", "word " * 1_100), user("word " * 100)], False),
        ([SUMMARY, condense.Message("assistant", "word " * 1_300), MARKER], False),
    ],
)
async def test_unasked_two_messages_and_a_twentieth_of_the_window_are_needed(
    messages: list[condense.Message], due: bool
) -> None:
    """Of 26,000 words that is 1,300, whatever the threshold says."""
    bench = Bench("S")
    made = await bench.fit(messages, threshold=5, system="word " * 2_000)
    assert (made is not None) is due
    assert bench.calls == int(due)


async def test_the_distance_counts_from_the_newest_try() -> None:
    """In tokens too; what was kept verbatim is not new."""
    one_long_message = [*talk(7), condense.Message("assistant", "word " * 2_000)]
    assert await Bench("S").fit(one_long_message, condensed_at=7, threshold=5) is None
    kept = [replace(m, seq=seq) for seq, m in enumerate(talk(6), start=5)]
    summary = replace(SUMMARY, seq=11, position=4, id="s")
    effective = (summary, *(replace(m, id=f"k{m.seq}") for m in kept))
    bench = Bench()
    assert await bench.fit([], effective=effective, tokens=situation(talk(8)).tokens) is None
    assert bench.calls == 0


@pytest.mark.parametrize("trigger", condense.Trigger)
async def test_a_small_window_is_truncated_at_once(trigger: condense.Trigger) -> None:
    """A summary of nine sections would fill it; what is small is the policy's."""
    bench = Bench("S")
    made = await bench.fit(talk(12, words=600), window=7_999, trigger=trigger)
    assert (made.kind, bench.calls) == ("truncated", 0)
    bench = Bench("S", policy=condense.Policy(small_window=0))
    made = await bench.fit(talk(12, words=500), window=7_999, trigger=trigger)
    assert made.kind == "condensed"


def test_the_ladder_begins_with_the_strategy_of_the_settings() -> None:
    """And goes down from there."""
    rungs = ("my.own.Strategy", "ledger", "sliding_window")
    assert [condense.ladder_from(rung) for rung in rungs] == [rungs, rungs[1:], rungs[2:]]


@pytest.mark.parametrize(("words", "sent"), [(25_900, True), (25_901, False)])
async def test_what_leaves_room_for_a_reply_is_sent_where_nothing_can_be_hidden(
    words: int, sent: bool
) -> None:
    """To the last word: the tenth of the window beside it is for estimates."""
    with nullcontext() if sent else pytest.raises(condense.CannotFit):
        assert await Bench().fit([user("word " * words)]) is None


async def test_the_floor_is_named_with_what_can_be_done() -> None:
    """Which part is irreducible, and how to get below it."""
    with pytest.raises(condense.CannotFit, match="larger context window") as caught:
        await Bench().fit([user("hi")], system="word " * 40_000, trigger=FORCED)
    floor = caught.value.floor
    assert floor.total > floor.limit == 23_300


@pytest.mark.parametrize(
    ("words", "in_loop", "due"), [(1_500, True, False), (1_500, False, True), (2_340, True, True)]
)
async def test_the_threshold_waits_for_the_end_of_a_tool_loop(
    words: int, in_loop: bool, due: bool
) -> None:
    """The limit of 23,300 words does not; a hook answers at any time."""
    history = [*talk(10, words=words), call(), result()]
    bench = Bench("S")
    assert (await bench.fit(history, in_tool_loop=in_loop) is not None) is due

    async def now(_situation: condense.Situation) -> bool:
        return True

    bench = Bench("S", hooks=condense.Hooks(should_condense=(now,)))
    assert await bench.fit(history, in_tool_loop=in_loop)
