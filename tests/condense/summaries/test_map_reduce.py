"""A history that fits into no single call is summarised in parts."""

import math
from decimal import Decimal
from typing import Any

import pytest

import condense
from condense.testing import ScriptedSummarizer, WordCounter
from tests.condense.api_rules import assert_valid_request
from tests.condense.dialogues import IMAGE, call, chat, result, start_afresh, texts, user
from tests.condense.fakes import EchoSummarizer, RepeatingSummarizer

WINDOW = 10_000
LONG = chat(40, words=500)


class PromptTooLong(Exception):
    """The application's own way to say so."""

    is_context_overflow = True


async def summarise(
    model: Any, messages: list[condense.Message] = LONG, **rest: Any
) -> condense.Reduction:
    """Return what comes of twice the window's words."""
    return await start_afresh(messages, model, **{"window": WINDOW, **rest})


def words(request: condense.SummaryRequest) -> int:
    """Return the size of a whole request."""
    counter = WordCounter()
    return counter.count(request.system) + sum(counter.count(m.content) for m in request.messages)


def numbers(request: condense.SummaryRequest) -> list[int]:
    """Return which of the chat's messages a request shows."""
    said = " ".join(message.text for message in request.messages)
    return [int(word.removeprefix("message")) for word in said.split() if word[7:].isdecimal()]


async def test_each_part_takes_at_most_sixty_percent_of_the_window() -> None:
    """With its instruction, which says which part it is; three are read at a time."""
    model = RepeatingSummarizer("S")
    made = await summarise(model, prompt="Be brief.", focus="names")
    *parts, merged = model.requests
    assert len(parts) >= 4
    assert all(words(request) <= 0.6 * WINDOW for request in parts)
    assert sorted(n for request in parts for n in numbers(request)) == [*range(1, 41)]
    for number, request in enumerate(parts, start=1):
        asked = texts(request.messages[-1])[-1]
        assert asked.startswith(f"The messages above are part {number} of {len(parts)} ")
        assert asked.endswith(condense.condense_instruction("Be brief.", "names"))
    assert "not the conversation itself but summaries" in texts(merged.messages[-1])[-1]
    assert made.summary == "S"
    assert f"summarised in {len(parts)} parts" in made.notes[0]
    assert model.most_at_once == 3


async def test_no_part_begins_between_a_call_and_its_result() -> None:
    """Each request is valid, and each result is told with its call."""
    steps = [m for n in range(30) for m in (call(f"t{n}"), result(f"t{n}", "word " * 700))]
    model = RepeatingSummarizer("S")
    await summarise(model, [user("go"), *steps, condense.Message("assistant", "done")])
    assert len(model.requests) > 3
    for request in model.requests:
        assert_valid_request([m.to_api() for m in request.messages], tools_present=False)
        said = "\n".join(message.text for message in request.messages)
        assert said.count("[Tool Use: read_file]") == said.count("[Tool Result]")


async def test_a_message_larger_than_a_part_is_cut_and_read_whole() -> None:
    """Nothing of it is left out, and its image is shown once, after the last piece."""
    model = RepeatingSummarizer("S")
    text = " ".join(f"w{n}" for n in range(20_000))
    await summarise(model, [user("go"), condense.Message("assistant", text), *chat(2)])
    said = "".join(m.text for request in model.requests for m in request.messages)
    assert all(f"w{n}" in said for n in range(0, 20_000, 500))
    assert all(words(request) <= 0.6 * WINDOW for request in model.requests)
    model = RepeatingSummarizer("S")
    long = condense.Message("user", (condense.TextBlock("word " * 15_000), IMAGE))
    await summarise(model, [*chat(2), long, condense.Message("assistant", "I see.")])
    shown = [block for request in model.requests for m in request.messages for block in m.blocks]
    assert shown.count(IMAGE) == 1


async def test_summaries_are_summarised_twice_at_most() -> None:
    """With those of the parts that is a depth of three; where it is not enough, they are joined."""
    model = RepeatingSummarizer("word " * 2_000)
    made = await summarise(model, chat(400, words=500))
    asked = [texts(request.messages[-1])[-1] for request in model.requests]
    merges = [text for text in asked if text.startswith("The messages above are not")]
    parts = len(asked) - len(merges)
    once = math.ceil(parts / 2)
    twice = math.ceil(once / 2)
    assert parts > 16
    assert len(merges) == parts // 2 + once // 2
    assert len(made.summary.split()) == twice * 2_000


@pytest.mark.parametrize("count", [200, 1_000, 4_000])
async def test_a_history_of_any_length_takes_a_bounded_number_of_calls(count: int) -> None:
    """Its first part and the newest are read; summary and page say how many were left out."""
    model = RepeatingSummarizer("S")
    made = await summarise(model, chat(count, words=500))
    *parts, merged = model.requests
    seen = {number for request in parts for number in numbers(request)}
    missed = sorted({*range(1, count + 1)} - seen)
    left = len(missed)
    assert len(parts) <= 20
    assert {1, count} <= seen
    # One gap.
    assert missed[-1:] == [left + number - 1 for number in missed[:1]]
    said = [note for note in made.notes if f"{left:,} messages" in note]
    gap = f"{left} messages that came here were not summarised"
    asked = "".join(message.text for message in merged.messages)
    assert (bool(said), asked.find(gap) > asked.find("S")) == (bool(left), bool(left))


async def test_a_long_message_that_is_left_out_counts_once() -> None:
    """It is in as many parts as it needs, and is one message."""
    model = RepeatingSummarizer("S")
    long = condense.Message("assistant", "word " * 50 * WINDOW)
    made = await summarise(model, [user("go"), long, *chat(2)])
    assert any(": 1 messages after its first part" in note for note in made.notes)


async def test_usage_cost_and_analyses_of_all_calls_are_on_record() -> None:
    """As sums; the first failure ends it, and at most the calls that ran beside it are paid."""
    paid = condense.UsageChunk(condense.Usage(input=5, output=1), Decimal("0.1"))
    model = RepeatingSummarizer(
        [condense.TextChunk("<analysis>A</analysis><summary>S</summary>"), paid]
    )
    made = await summarise(model)
    count = len(model.requests)
    assert (made.usage, made.cost) == (condense.Usage(5 * count, count), count * Decimal("0.1"))
    assert made.analysis.startswith("A\n\nA")
    assert "<analysis>" not in made.message.text
    failing = ScriptedSummarizer([condense.TextChunk("S"), paid], OSError("no"), "S", "S", "S", "S")
    with pytest.raises(condense.SummaryFailed, match="Condensing API call failed: no") as caught:
        await summarise(failing)
    assert len(failing.requests) <= 4
    assert (caught.value.cost, caught.value.calls) == (Decimal("0.1"), len(failing.requests))


async def test_a_part_that_comes_back_as_long_as_it_was_ends_it() -> None:
    """The other parts would cost as much in vain."""
    model = EchoSummarizer()
    with pytest.raises(condense.SummaryFailed) as caught:
        await summarise(model)
    assert "as long as the part" in caught.value.details
    assert len(model.requests) <= 3


@pytest.mark.parametrize("caches", [False, True])
async def test_a_call_that_turns_out_too_long_is_divided(caches: bool) -> None:
    """The estimate was wrong; the provider's word counts, and no part is longer for its cache."""
    model = ScriptedSummarizer(PromptTooLong("no"), *["S"] * 10, caches_prompts=caches)
    trigger = condense.Trigger.FORCED if caches else condense.Trigger.AUTO
    made = await summarise(model, chat(20, words=400), trigger=trigger)
    assert len(model.requests) > 2
    assert made.summary == "S"
    assert all(words(request) <= 0.6 * 8_900 for request in model.requests[1:])
    assert not any(request.aligned for request in model.requests)


async def test_a_window_that_the_instruction_fills_is_not_divided() -> None:
    """Nor is a provider asked for ever."""
    model = RepeatingSummarizer("S")
    await summarise(model, chat(20), window=1_500)
    assert len(model.requests) == 1
    model = RepeatingSummarizer(PromptTooLong("2,001 are too many"))
    with pytest.raises(condense.SummaryOverflow, match="2,001 are too many"):
        await summarise(model, chat(20), window=1_500)
    assert len(model.requests) == 1
    model = RepeatingSummarizer(PromptTooLong("no"))
    with pytest.raises(condense.SummaryOverflow):
        await summarise(model, chat(20, words=400))
    assert len(model.requests) <= 4


class Smaller(RepeatingSummarizer):
    """A model other than the one that answers, with less room."""

    budget = condense.Budget(window=5_500, max_output=50)


async def test_the_parts_fit_into_the_window_of_the_model_that_writes() -> None:
    """Where that is another one."""
    model = Smaller("S")
    made = await summarise(model, chat(10, words=500), window=100_000)
    assert made.summary == "S"
    assert len(model.requests) > 1
    assert max(map(words, model.requests)) <= 5_500 - 50
    assert {request.max_output for request in model.requests} == {50}
