"""Whatever a model answers, no context grows and no attempt stays open."""

import math
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

import condense
from condense.history.tags import replace_hidden
from condense.summaries.writer import PARALLEL
from condense.testing import EchoSummarizer, RecordingLog, RepeatingSummarizer, WordCounter
from tests.condense.api_rules import assert_valid_request
from tests.condense.bench import WINDOW, Bench, talk
from tests.condense.dialogues import SUMMARY, call, result, situation, user

PAID = condense.UsageChunk(condense.Usage(input=7), Decimal("0.25"))
HUGE = "word " * 100_000


ANSWERS: dict[str, Any] = {
    "raises": OSError("no"),
    "raises in the stream, with cost": [PAID, condense.TextChunk("half"), OSError("no")],
    "nothing": "",
    "white space": " \n\t ",
    "analysis only": "<analysis>hm</analysis>",
    "an unclosed tag": "<summary>S",
    "huge": HUGE,
    "half a summary": [condense.TextChunk("<summary>S"), PAID, condense.CutChunk()],
    "a summary": [condense.TextChunk("S"), PAID],
}
CONVERSATIONS: dict[str, list[condense.Message]] = {
    "a long chat": talk(12),
    "tool calls": [user("go"), *[m for i in range(20) for m in (call(f"t{i}"), result(f"t{i}"))]],
    "one huge message": [user("word " * 90_000)],
    "a huge result": [*talk(2), call(), result(text="word " * 90_000)],
    "just condensed": [SUMMARY, user("next")],
    "nothing": [],
}


RUNS = [(True, one) for one in condense.Trigger] + [(False, condense.Trigger.AUTO)]


@pytest.mark.parametrize(("automatic", "trigger"), RUNS)
@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS)
@pytest.mark.parametrize("answer", [*ANSWERS.values(), None], ids=[*ANSWERS, "an echo"])
async def test_every_answer_ends_in_a_smaller_context_or_a_reason(
    answer: Any, messages: list[condense.Message], automatic: bool, trigger: condense.Trigger
) -> None:
    """Never in a lost message, an open attempt, or a context that grew."""
    bench = Bench(answer) if answer is not None else Bench(summarizer=EchoSummarizer())
    made = None
    with suppress(condense.CondenseError):
        made = await bench.fit(messages, automatic=automatic, trigger=trigger)
    assert_closed(bench.log)
    assert made or bench.calls <= PARALLEL
    if made:
        assert_smaller(situation(messages, window=WINDOW), made)


class PromptTooLong(Exception):
    """What a provider raises whatever it is sent."""

    is_context_overflow = True


PROVIDERS: dict[str, Any] = {
    "always fails": RepeatingSummarizer(OSError("no")),
    "returns more than its input": EchoSummarizer(times=2),
    "calls tools": RepeatingSummarizer([condense.ToolCallChunk("read")], caches_prompts=True),
    "claims overflow": RepeatingSummarizer(PromptTooLong(), caches_prompts=True),
    "says one word": RepeatingSummarizer("S"),
}


@pytest.mark.parametrize("trigger", condense.Trigger)
@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
async def test_many_windows_of_text_end_within_the_ladder(
    provider: Any, trigger: condense.Trigger
) -> None:
    """Smaller, valid and undoable, or a reason; after one failed call there is no other."""
    history = [condense.Message("user", "go"), *talk(100, words=2_000), *talk(2)]
    ladder = condense.ladder_from("fresh_start", clear=True)
    bench = Bench(summarizer=provider, strategies=ladder)
    given = situation(history, window=40_000, trigger=trigger)
    made = None
    with suppress(condense.CondenseError):
        made = await bench.condenser.fit(given)
    assert_closed(bench.log)
    assert len([error for error, _ in bench.log.of("failed") if error.calls]) <= 1
    assert made or trigger is condense.Trigger.MANUAL
    if made:
        assert_smaller(given, made)
        after = condense.hide_behind(given.effective, made.hidden, made.message)
        seen = condense.effective_history(after)
        assert_valid_request([one.to_api() for one in condense.shape_request(seen)])
        tags = made.message.tags
        back = condense.undo(after, tags.condense_id or tags.truncation_id or "")
        assert condense.effective_history(back) == given.effective


def assert_closed(log: RecordingLog) -> None:
    """Fail unless each attempt that started has ended, once."""
    names = log.names
    assert names[::2] == ["started"] * math.ceil(len(names) / 2)
    assert set(names[1::2]) <= {"succeeded", "failed"}
    assert len(names) % 2 == 0


def assert_smaller(before: condense.Situation, made: condense.Reduction) -> None:
    """Fail unless the reduction hides something and its sizes are those of the histories."""
    after = replace_hidden(before.effective, made.hidden, made.message)
    size = sum(message.tokens or WordCounter().count(message.content) for message in after)
    assert made.hidden
    assert made.tokens_after.value == size < made.tokens_before.value
