"""Every try is on record: what was tried, how it ended, and what it cost."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import pytest

import condense
from condense.reduction.strategy import ByRule
from condense.testing import RecordingLog, ScriptedReviewer, ScriptedSummarizer, WordCounter
from tests.condense.bench import PAID, WINDOW, Bench, talk
from tests.condense.dialogues import situation, texts


async def test_an_attempt_says_what_was_tried_and_why() -> None:
    """All that a row needs; each call says which attempt makes it, and progress grows."""
    bench, messages = Bench("S"), talk(12)
    made = await bench.fit(messages, prompt="Be brief.")
    (attempt,) = bench.log.of("started")
    assert (attempt.strategy, attempt.kind) == ("fresh_start", "condensed")
    assert attempt.trigger is condense.Trigger.AUTO
    assert (attempt.threshold, attempt.threshold_source) == (50, "global")
    assert attempt.tokens_before == condense.TokenCount(24_000)
    assert (attempt.prompt, attempt.prompt_key) == ("Be brief.", "custom")
    assert attempt.effective == situation(messages).effective
    assert len({attempt.id, made.message.id, made.message.tags.condense_id}) == 3
    bench = Bench([OSError("no")], "S")
    for _ in range(2):
        await bench.fit(talk(12))
    attempts = [one.id for one in bench.log.of("started") if one.strategy == "fresh_start"]
    assert [one.attempt_id for one in bench.summarizer.requests] == attempts
    assert len(set(attempts)) == 2
    bench = Bench([condense.TextChunk("12345"), condense.TextChunk("678"), PAID])
    await bench.fit(talk(12))
    assert bench.log.of("progressed") == [2, 2]


class MeasuringLog(RecordingLog):
    """A log that knows the size of what it has applied."""

    size = 937

    async def succeeded(
        self, attempt: condense.Attempt, reduction: condense.Reduction
    ) -> condense.TokenCount | None:
        """Remember the reduction, and return a size of its own."""
        await super().succeeded(attempt, reduction)
        return condense.TokenCount(self.size, measured=True)


@pytest.mark.parametrize(("size", "level"), [(937, "INFO"), (19_200, "INFO"), (19_201, "WARNING")])
async def test_the_size_on_record_is_the_one_that_is_logged_told_and_returned(
    caplog: pytest.LogCaptureFixture, size: int, level: str
) -> None:
    """Whoever keeps the record may know it better than the estimate; little gained is a warning."""
    told: list[condense.Event] = []
    bench = Bench("S", hooks=condense.Hooks(listeners=(told.append,)))
    bench.condenser.log = log = MeasuringLog()
    log.size = size
    with caplog.at_level(logging.INFO, "condense"):
        made = await bench.fit(talk(12))
    assert made.tokens_after == condense.TokenCount(size, measured=True)
    decided = "auto: 24000 tokens, 92 % of 26000, threshold 50 % (global), 12 messages: due"
    change = f"{100 * size / 24_000 - 100:+.0f}"
    assert f"24000 → {size} tokens ({change} %)" in caplog.text
    assert caplog.records[0].getMessage() == decided
    assert caplog.records[-1].levelname == level
    assert isinstance(told[-1], condense.AttemptSucceeded)
    assert told[-1].reduction == made


class Room:
    """What is so around a conversation: another text each time it is gathered."""

    def __init__(self, words: str = "words", fault: Exception | None = None) -> None:
        """Nobody has looked yet."""
        self.words, self.fault, self.looks = words, fault, 0

    async def gather(self) -> str:
        """Return what is so now."""
        self.looks += 1
        if self.fault:
            raise self.fault
        return f"look {self.looks} {self.words}"


@pytest.mark.parametrize(
    ("strategy", "rest", "looks"),
    [
        ("fresh_start", {}, 1),
        ("ledger", {"trigger": condense.Trigger.FORCED}, 1),
        # A message with its own follows what was asked for; a marker says what is gone.
        ("fresh_start", {"trigger": condense.Trigger.MANUAL}, 0),
        ("sliding_window", {"trigger": condense.Trigger.FORCED}, 0),
        ("fresh_start", {"automatic": False}, 0),
    ],
)
async def test_a_summary_that_nobody_asked_for_ends_with_the_environment(
    strategy: str, rest: dict[str, Any], looks: int
) -> None:
    """Behind what hooks add; nothing is gathered for anything else."""
    room, hooks = Room(), condense.Hooks(after=(condense.attach_ledger,))
    bench = Bench("S", hooks=hooks, strategies=(strategy,))
    made = await bench.fit(talk(11), environment=room.gather, **rest)
    assert room.looks == looks
    if made is None:
        return
    assert [text.startswith("look") for text in texts(made.message)][-1] is bool(looks)
    assert bench.log.of("succeeded") == [made]
    assert made.message.tokens == WordCounter().count(made.message.content)


@pytest.mark.parametrize(
    ("room", "said"),
    [(Room(fault=OSError("no terminal")), "no terminal"), (Room("word " * 19_000), "hardly get")],
)
async def test_an_environment_that_has_no_text_or_no_room_costs_no_summary(
    room: Room, said: str
) -> None:
    """It is missing, and that is noted; without a summary nothing is gathered in vain."""
    bench = Bench([OSError("no")], "S", strategies=("fresh_start",))
    assert await bench.fit(talk(11), environment=room.gather) is None
    assert room.looks == 0
    made = await bench.fit(talk(11), environment=room.gather)
    assert [one.startswith("look") for one in texts(made.message)] == [False]
    (note,) = made.notes
    assert note.startswith("The environment's details are missing: ")
    assert said in note


async def test_what_waited_is_applied_with_the_environment_as_it_is_then() -> None:
    """Also in another process; what a person is shown has none of it."""
    room, reviewer = Room(), ScriptedReviewer(condense.WriteAgain(), condense.Discarded("stopped"))
    bench, now = Bench("One.", "Two.", reviewer=reviewer), {"environment": room.gather}
    with pytest.raises(condense.Discarded):
        await bench.fit(talk(11), **now)
    assert room.looks == 0
    draft = reviewer.proposals[-1].reduction
    room.looks = 8
    later = situation([*talk(11)], window=WINDOW, **now)
    made = await Bench().condenser.resume(later, "the-attempt", draft)
    assert texts(made.message) == [*texts(draft.message), "look 9 words"]
    assert made.tokens_after.value == draft.tokens_after.value + 3


class HangingSummarizer:
    """Begins to answer and never goes on."""

    supports_images = True

    def __init__(self) -> None:
        """Remember whether the call was closed."""
        self.began = asyncio.Event()
        self.closed = False

    async def stream(self, request: condense.SummaryRequest) -> AsyncIterator[condense.Chunk]:
        """Yield a word and wait for ever."""
        try:
            yield condense.TextChunk("S")
            self.began.set()
            await asyncio.Event().wait()
        finally:
            self.closed = True


class BrokenLog(RecordingLog):
    """Cannot keep up with progress."""

    async def progressed(self, attempt: condense.Attempt, tokens_written: int) -> None:
        """Fail."""
        raise RuntimeError("database is gone")


async def test_an_unexpected_error_ends_the_attempt_and_the_next_rung_runs() -> None:
    """What was paid is on record."""
    hanging, paid = HangingSummarizer(), ScriptedSummarizer([PAID, condense.TextChunk("S")])
    for model, cost in ((hanging, 0), (paid, Decimal("0.25"))):
        log, bench = BrokenLog(), Bench(summarizer=model)
        bench.condenser.log = log
        assert (await bench.fit(talk(12))).strategy == "ledger"
        assert log.names == ["started", "failed", "started", "succeeded"]
        error, following = log.of("failed")[0]
        assert (str(error), following) == ("The strategy fresh_start failed unexpectedly", "ledger")
        assert (error.details, error.calls, error.cost) == ("Error: database is gone", 1, cost)
    assert hanging.closed


class Foreign(ByRule):
    """Somebody's strategy, which does what ``act`` does."""

    name, kind = "foreign", "condensed"

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def prompt_for(self, situation: condense.Situation) -> str:
        """Fail, as nobody expects."""
        raise KeyError(situation.focus)

    async def reduce(self, situation: condense.Situation, kit: condense.Kit) -> Any:
        """Do it."""
        return self.act()


def fail() -> None:
    """Raise what no strategy should."""
    raise ValueError("a bug")


@pytest.mark.parametrize("act", [fail, lambda: None])
async def test_a_strategy_of_somebody_elses_cannot_end_the_turn(act: Callable[[], Any]) -> None:
    """Whatever it does, the rungs below it are there."""
    bench = Bench(strategies=[Foreign(act), "sliding_window"])
    made = await bench.fit(talk(12))
    assert made.strategy == "sliding_window"
    assert any("prompt is not on record" in note for note in made.notes)
