"""Whatever a model answers, no context grows and no attempt stays open."""

import math
from contextlib import suppress
from typing import Any

import pytest

import condense
from condense.history.effective_history import replace_hidden
from condense.summaries.writer import PARALLEL
from condense.testing import RecordingLog, WordCounter
from tests.condense.bench import PAID, WINDOW, Bench, talk
from tests.condense.dialogues import call, result, situation, user
from tests.condense.fakes import EchoSummarizer

HUGE = "word " * 100_000

ANSWERS: dict[str, Any] = {
    "raises in the stream, with cost": [PAID, condense.TextChunk("half"), OSError("no")],
    "nothing": "",
    "huge": HUGE,
    "half a summary": [condense.TextChunk("<summary>S"), PAID, condense.CutChunk()],
    "a summary": [condense.TextChunk("S"), PAID],
}
CONVERSATIONS: dict[str, list[condense.Message]] = {
    "a long chat": talk(12),
    "tool calls": [user("go"), *[m for i in range(20) for m in (call(f"t{i}"), result(f"t{i}"))]],
    "a huge result": [*talk(2), call(), result(text="word " * 90_000)],
}


@pytest.mark.parametrize("trigger", condense.Trigger)
@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS)
@pytest.mark.parametrize("answer", [*ANSWERS.values(), None], ids=[*ANSWERS, "an echo"])
async def test_every_answer_ends_in_a_smaller_context_or_a_reason(
    answer: Any, messages: list[condense.Message], trigger: condense.Trigger
) -> None:
    """Never in a lost message, an open attempt, or a context that grew."""
    bench = Bench(answer) if answer is not None else Bench(summarizer=EchoSummarizer())
    made = None
    with suppress(condense.CondenseError):
        made = await bench.fit(messages, trigger=trigger)
    assert_closed(bench.log)
    # One answer is scripted: what follows it begins before the others fail.
    assert made or bench.calls <= PARALLEL + 1
    if made:
        assert_smaller(situation(messages, window=WINDOW), made)


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
