"""The ladder: which strategy is tried when, what counts as success, and what is on record."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from condense import (
    CannotFit,
    Chunk,
    CondenseError,
    Condenser,
    DidNotShrink,
    Message,
    NothingToCondense,
    Reduction,
    Situation,
    SummaryFailed,
    SummaryRequest,
    Tags,
    TextChunk,
    TokenCount,
    Trigger,
    Usage,
    UsageChunk,
    load_strategy,
)
from condense.situation import replace_hidden
from condense.testing import (
    EchoSummarizer,
    RecordingLog,
    ScriptedSummarizer,
    WordCounter,
)
from tests.condense.dialogues import call, chat, result, situation, user

AUTO, FORCED, MANUAL = Trigger.AUTO, Trigger.FORCED, Trigger.MANUAL
PAID = UsageChunk(Usage(input=7), Decimal("0.25"))
SUMMARY = Message("user", "## Conversation Summary\nS", tags=Tags(condense_id="c1"))
HUGE = "word " * 100_000
# A window of 2,600 words allows 2,240; chat(11) has 2,200 and chat(12) has 2,400.
WINDOW = 2_600


class Bench:
    """A condenser with a scripted model and a log to look into."""

    def __init__(self, *replies: Any, **rest: Any) -> None:
        """Script the model's replies."""
        self.summarizer = ScriptedSummarizer(*replies)
        self.log = RecordingLog()
        summarizer = rest.pop("summarizer", self.summarizer)
        self.condenser = Condenser(summarizer, WordCounter(), log=self.log, **rest)

    async def fit(self, messages: Sequence[Message], **rest: Any) -> Reduction | None:
        """Fit a conversation, in a window of 2,600 words unless the test says otherwise."""
        return await self.condenser.fit(situation(messages, **{"window": WINDOW, **rest}))

    @property
    def calls(self) -> int:
        """How often the model was asked."""
        return len(self.summarizer.requests)

    @property
    def failures(self) -> list[tuple[type, str | None]]:
        """The failed attempts: what was raised, and what was tried next."""
        return [(type(error), following) for error, following in self.log.of("failed")]


# When something is done.


async def test_below_the_threshold_an_automatic_run_does_nothing() -> None:
    """No attempt, no row, no call."""
    bench = Bench()
    assert await bench.fit(chat(4)) is None
    assert bench.log.events == []


async def test_at_the_threshold_an_automatic_run_summarises() -> None:
    """1,300 of 2,600 words are the fifty percent that are set."""
    made = await Bench("S").fit(chat(13, words=100))
    assert made is not None
    assert made.kind == "condensed"


@pytest.mark.parametrize("trigger", [FORCED, MANUAL])
async def test_forced_and_manual_runs_do_not_ask_the_budget(trigger: Trigger) -> None:
    """The provider's word counts, and so does the user's."""
    made = await Bench("S").fit(chat(4), window=100_000, trigger=trigger)
    assert made is not None
    assert made.kind == "condensed"


async def test_with_the_switch_off_nothing_is_done_below_the_limit() -> None:
    """The threshold is the switch's."""
    assert await Bench().fit(chat(11), automatic=False) is None


@pytest.mark.parametrize("trigger", [AUTO, FORCED])
async def test_with_the_switch_off_messages_are_only_truncated(trigger: Trigger) -> None:
    """The user does not want to pay for summaries."""
    bench = Bench()
    made = await bench.fit(chat(12), automatic=False, trigger=trigger)
    assert made is not None
    assert made.kind == "truncated"
    assert bench.calls == 0


async def test_the_switch_does_not_bind_a_manual_run() -> None:
    """Whoever presses the button wants a summary."""
    made = await Bench("S").fit(chat(4), automatic=False, trigger=MANUAL)
    assert made is not None
    assert made.kind == "condensed"


# One rung down.


async def test_over_the_limit_a_failed_summary_falls_back_to_truncation() -> None:
    """The request has to be sent."""
    bench = Bench(OSError("no"))
    made = await bench.fit(chat(12))
    assert made is not None
    assert made.kind == "truncated"
    assert bench.failures == [(SummaryFailed, "sliding_window")]
    assert bench.log.names == ["started", "failed", "started", "succeeded"]


async def test_below_the_limit_a_failed_summary_truncates_nothing() -> None:
    """The request still fits as it is."""
    bench = Bench(OSError("no"))
    assert await bench.fit(chat(11)) is None
    assert bench.failures == [(SummaryFailed, None)]


async def test_a_forced_run_truncates_although_the_estimate_is_below_the_limit() -> None:
    """The estimate was wrong: the request was refused."""
    made = await Bench(OSError("no")).fit(chat(8), trigger=FORCED)
    assert made is not None
    assert made.kind == "truncated"


async def test_a_manual_run_fails_with_the_reason_and_truncates_nothing() -> None:
    """Nobody pressed "truncate"."""
    bench = Bench(OSError("no"))
    with pytest.raises(SummaryFailed, match="Condensing API call failed: no"):
        await bench.fit(chat(12), trigger=MANUAL)
    assert bench.failures == [(SummaryFailed, None)]


async def test_too_few_messages_fail_a_manual_run_with_roos_sentence() -> None:
    """And the attempt is on record."""
    bench = Bench()
    with pytest.raises(NothingToCondense, match="Not enough messages to condense context"):
        await bench.fit(chat(1), trigger=MANUAL)
    assert bench.failures == [(NothingToCondense, None)]


async def test_nothing_new_below_the_limit_is_not_reported_on_every_request() -> None:
    """With a low threshold that would be a failure before each reply."""
    bench = Bench()
    assert await bench.fit([SUMMARY, user("word " * 1_500)]) is None
    assert bench.log.events == []


async def test_a_summary_that_does_not_shrink_is_rolled_back() -> None:
    """What it cost is kept, and the next rung runs."""
    bench = Bench([TextChunk(HUGE), PAID])
    made = await bench.fit(chat(12))
    assert made is not None
    assert made.kind == "truncated"
    assert bench.failures == [(DidNotShrink, "sliding_window")]
    assert bench.log.of("failed")[0][0].cost == Decimal("0.25")


async def test_a_forced_summary_that_is_still_too_large_is_rolled_back() -> None:
    """Smaller is not enough there."""
    bench = Bench("word " * 2_260)
    made = await bench.fit(chat(12), trigger=FORCED)
    assert made is not None
    assert made.kind == "truncated"
    assert bench.failures == [(DidNotShrink, "sliding_window")]


async def test_shrinking_is_judged_by_one_counter() -> None:
    """A measured size before and an estimate after would prove nothing."""
    measured = TokenCount(1_000_000, measured=True)
    bench = Bench(HUGE)
    with pytest.raises(DidNotShrink):
        await bench.fit(chat(12), trigger=MANUAL, tokens=measured)


async def test_sizes_are_reported_in_the_callers_unit() -> None:
    """Where the provider measured twice the estimate, the estimate afterwards is doubled too."""
    made = await Bench("S").fit(chat(12), tokens=TokenCount(4_800, measured=True))
    assert made is not None
    assert made.tokens_before == TokenCount(4_800, measured=True)
    assert made.tokens_after == TokenCount(2 * (made.message.tokens or 0))


# When nothing helps.


async def test_what_cannot_fit_is_refused_with_its_sizes() -> None:
    """A person can see which part is too large."""
    bench = Bench()
    with pytest.raises(CannotFit) as caught:
        await bench.fit([user("word " * 9_000)], system="be kind", tools=({"name": "a b c"},))
    assert str(caught.value) == (
        "Nothing more can be hidden to make the context fit: system prompt 2 + tools 3 + "
        "newest message 9,000 tokens, and 2,240 are allowed"
    )
    assert "Not enough messages to condense context" in caught.value.details


async def test_the_cost_of_all_that_failed_is_on_the_last_error() -> None:
    """Nothing that was paid for is forgotten."""
    bench = Bench([PAID, OSError("no")])
    with pytest.raises(CannotFit) as caught:
        await bench.fit([*chat(1), user("word " * 9_000), call()])
    assert caught.value.cost == Decimal("0.25")


@pytest.mark.parametrize("trigger", [AUTO, FORCED])
async def test_an_empty_history_that_is_too_large_is_refused(trigger: Trigger) -> None:
    """System prompt and tools alone may not fit."""
    with pytest.raises(CannotFit, match=r"system prompt 3,000 \+ tools 0 \+ newest message 0"):
        await Bench().fit([], system="word " * 3_000, trigger=trigger)


async def test_an_automatic_run_that_fails_within_the_safety_margin_lets_the_request_go() -> None:
    """A tenth of the window is kept for errors of estimation; 2,300 words may well fit."""
    assert await Bench().fit([user("word " * 2_300)]) is None


async def test_a_forced_run_never_lets_the_same_request_go_again() -> None:
    """It was refused already."""
    with pytest.raises(CannotFit):
        await Bench().fit([user("word " * 100)], trigger=FORCED)


# The record.


async def test_an_attempt_says_what_was_tried_and_why() -> None:
    """All that a row needs, before anything is done."""
    bench = Bench("S")
    await bench.fit(chat(12), prompt="Be brief.")
    attempt = bench.log.of("started")[0]
    assert (attempt.strategy, attempt.kind, attempt.trigger) == ("fresh_start", "condensed", AUTO)
    assert (attempt.threshold, attempt.threshold_source) == (50, "global")
    assert (attempt.tokens_before, attempt.prompt) == (TokenCount(2_400), "Be brief.")


async def test_each_attempt_has_its_own_id() -> None:
    """Rows are told apart by it."""
    bench = Bench(OSError("no"))
    await bench.fit(chat(12))
    first, second = bench.log.of("started")
    assert first.id != second.id


async def test_ids_can_be_given() -> None:
    """A test knows them beforehand."""
    numbers = iter("abcdef")
    bench = Bench("S", new_id=lambda: next(numbers))
    made = await bench.fit(chat(12))
    assert made is not None
    assert [attempt.id for attempt in bench.log.of("started")] == ["a"]
    assert {made.message.id, made.message.tags.condense_id} == {"b", "c"}


async def test_progress_grows_with_the_summary() -> None:
    """In tokens, by the rule of four characters each."""
    bench = Bench([TextChunk("12345"), TextChunk("678"), PAID])
    await bench.fit(chat(12))
    assert bench.log.of("progressed") == [2, 2]


async def test_the_reduction_that_is_returned_is_the_one_on_record() -> None:
    """The log is where it is applied."""
    bench = Bench("S")
    made = await bench.fit(chat(12))
    assert bench.log.of("succeeded") == [made]


class HangingSummarizer:
    """Begins to answer and never goes on."""

    supports_images = True

    def __init__(self) -> None:
        """Remember whether the call was closed."""
        self.began = asyncio.Event()
        self.closed = False

    async def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:  # noqa: ARG002
        """Yield a word and wait for ever."""
        try:
            yield TextChunk("S")
            self.began.set()
            await asyncio.Event().wait()
        finally:
            self.closed = True


async def test_cancelling_is_on_record_and_closes_the_call() -> None:
    """The caller sees the cancellation, and no further token is paid for."""
    summarizer = HangingSummarizer()
    bench = Bench(summarizer=summarizer)
    running = asyncio.ensure_future(bench.fit(chat(12)))
    await summarizer.began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bench.log.names == ["started", "cancelled"]
    assert summarizer.closed


class BrokenLog(RecordingLog):
    """Cannot keep up with progress."""

    async def progressed(self, attempt_id: str, tokens_written: int) -> None:  # noqa: ARG002
        """Fail."""
        raise RuntimeError("database is gone")


async def test_an_error_of_the_application_is_raised_and_no_attempt_stays_open() -> None:
    """It is no failure of the model, so nothing falls back; a spinner would never end."""
    log = BrokenLog()
    condenser = Condenser(ScriptedSummarizer("S"), WordCounter(), log=log)
    with pytest.raises(RuntimeError, match="database is gone"):
        await condenser.fit(situation(chat(12), window=WINDOW))
    assert log.names == ["started", "failed"]
    assert log.of("failed")[0][0].details == "Error: database is gone"


# Strategies.


async def test_strategies_are_named_or_given() -> None:
    """A registered name, a dotted path, or an object of one's own."""
    path = "condense.strategies.sliding_window.SlidingWindow"
    for strategy in ("sliding_window", path, load_strategy("sliding_window")):
        bench = Bench(strategies=[strategy])
        made = await bench.fit(chat(12))
        assert made is not None
        assert made.strategy == "sliding_window"


def test_an_unknown_strategy_is_named_with_those_there_are() -> None:
    """A typo in the settings is found at once."""
    with pytest.raises(LookupError, match="'slidng'; there are fresh_start, sliding_window"):
        load_strategy("slidng")


# Whatever the model answers.

ANSWERS: dict[str, Any] = {
    "raises": OSError("no"),
    "raises in the stream, with cost": [PAID, TextChunk("half"), OSError("no")],
    "raises nothing printable": [PAID, TimeoutError()],
    "nothing": "",
    "white space": " \n\t ",
    "analysis only": "<analysis>hm</analysis>",
    "an unclosed tag": "<summary>S",
    "huge": HUGE,
    "no chunk at all": [],
    "a summary": [TextChunk("S"), PAID],
}
CONVERSATIONS: dict[str, list[Message]] = {
    "a long chat": chat(12),
    "tool calls": [user("go"), *[m for i in range(20) for m in (call(f"t{i}"), result(f"t{i}"))]],
    "one huge message": [user("word " * 9_000)],
    "a huge result": [*chat(2), call(), result(text="word " * 9_000)],
    "just condensed": [SUMMARY, user("next")],
    "nothing": [],
}


@pytest.mark.parametrize("trigger", Trigger)
@pytest.mark.parametrize("automatic", [True, False])
@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS)
@pytest.mark.parametrize("answer", [*ANSWERS.values(), None], ids=[*ANSWERS, "an echo"])
async def test_every_answer_ends_in_a_smaller_context_or_a_reason(
    answer: Any, messages: list[Message], automatic: bool, trigger: Trigger
) -> None:
    """Never in a lost message, an open attempt, or a context that grew."""
    bench = Bench(answer) if answer is not None else Bench(summarizer=EchoSummarizer())
    made = None
    with suppress(CondenseError):
        made = await bench.fit(messages, automatic=automatic, trigger=trigger)
    assert_closed(bench.log)
    assert bench.calls <= 1
    if made:
        assert_smaller(situation(messages, window=WINDOW), made)


def assert_closed(log: RecordingLog) -> None:
    """Fail unless each attempt that started has ended, once."""
    names = log.names
    assert names[::2] == ["started"] * math.ceil(len(names) / 2)
    assert set(names[1::2]) <= {"succeeded", "failed"}
    assert len(names) % 2 == 0


def assert_smaller(before: Situation, made: Reduction) -> None:
    """Fail unless the reduction hides something and its sizes are those of the histories."""
    after = replace_hidden(before.effective, made.hidden, made.message)
    size = sum(message.tokens or WordCounter().count(message.content) for message in after)
    assert made.hidden
    assert made.tokens_after.value == size < made.tokens_before.value
