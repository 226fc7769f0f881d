"""Superseded and old tool output becomes one line each; the originals stay."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from condense import (
    DidNotShrink,
    Message,
    NothingToCondense,
    Reduction,
    TextBlock,
    TokenCount,
    ToolResultBlock,
    ToolUseBlock,
    Trigger,
    effective_history,
    hide_behind,
    ladder_from,
    load_strategy,
    replace_hidden,
)
from tests.condense.bench import Bench
from tests.condense.dialogues import numbered, reduce_with, user

FILE = "line of the file " * 40
DONE = [Message("assistant", "Done."), user("Go on")]


def read(id_: str, path: str = "a.py", *, name: str = "read_file", **limits: Any) -> Message:
    """Return a reply that reads a file, or calls another tool."""
    return Message("assistant", (ToolUseBlock(id_, name, {"path": path, **limits}),))


def found(id_: str, text: str = FILE, *, is_error: bool = False) -> Message:
    """Return a tool's answer."""
    return Message("user", (ToolResultBlock(id_, text, is_error),), tokens=len(text.split()))


def steps(count: int, first: int = 1, *, name: str = "run_command") -> list[Message]:
    """Return calls that have nothing to do with each other, with their long answers."""
    ids = [f"s{first + number}" for number in range(count)]
    return [one for id_ in ids for one in (read(id_, id_, name=name), found(id_))]


async def clear(messages: Sequence[Message], keep: int = 10, **rest: Any) -> Reduction:
    """Return what a clearing makes of a conversation."""
    return await reduce_with(load_strategy("clear", keep=keep), messages, **rest)


def outputs(messages: Sequence[Message]) -> dict[str, str]:
    """Return what the model sees of each result."""
    return {
        result.tool_use_id: str(result.content)
        for message in messages
        for result in message.tool_results
    }


async def cleared(messages: Sequence[Message], keep: int = 10) -> list[str]:
    """Return the calls whose results become one line."""
    with suppress(NothingToCondense):
        made = await clear(messages, keep)
        return [call for lines in made.message.tags.cleared.values() for call in lines]
    return []


async def test_an_older_read_of_a_file_becomes_one_line() -> None:
    """The newest read has what the file says now; what the user said beside one stays."""
    talk = [user("Fix it"), read("t1"), found("t1"), read("t2"), found("t2"), *steps(1)]
    made = await clear(talk)
    seen = outputs(replace_hidden(numbered(talk), made.hidden, made.message))
    assert seen["t1"] == (
        f"[Output of read_file cleared, {len(FILE)} characters: the same was read again later]"
    )
    assert seen["t2"] == FILE
    assert made.message.content == "[Tool output cleared: 1 results hidden to reduce context]"
    beside = Message("user", (ToolResultBlock("a", FILE), TextBlock("Never mind the rest.")))
    history = numbered([user("Go"), read("a"), beside, read("b"), found("b"), *DONE])
    made = await clear(history)
    after = replace_hidden(history, made.hidden, made.message)
    assert after[2].text == "Never mind the rest."
    assert outputs(after)["a"].startswith("[Output of read_file cleared")


@pytest.mark.parametrize(
    ("earlier", "later", "goes"),
    [
        ({}, {}, True),
        ({"offset": 10}, {}, True),
        ({"offset": 10}, {"offset": 10}, True),
        ({}, {"offset": 10}, False),
        ({"offset": 10}, {"offset": 90}, False),
    ],
    ids=["whole", "part-then-whole", "same-part", "whole-then-part", "other-part"],
)
async def test_a_read_is_superseded_by_one_of_as_much_or_more(
    earlier: dict[str, int], later: dict[str, int], goes: bool
) -> None:
    """What only the older one shows would be lost."""
    talk = [user("Fix it"), read("t1", **earlier), found("t1"), read("t2", **later), found("t2")]
    assert ("t1" in await cleared([*talk, *DONE])) is goes


@pytest.mark.parametrize("line", ["{:>6}\t", "{} | ", "{:>5}→"])
async def test_a_read_that_ended_before_supersedes_nothing(line: str) -> None:
    """Tools give the first lines of a long file alone, and say how to read on."""
    shown = ["".join([f"{line.format(at)}x\n" for at in range(at, at + 200)]) for at in (900, 1)]
    talk = [user("Fix it"), read("t1", start_line=900), found("t1", shown[0]), read("t2")]
    rest = [found("t2", f"{shown[1]}[Lines 1 to 200 of 1,099.]"), *DONE]
    assert await cleared([*talk, *rest]) == []
    whole = [read("t3"), found("t3", shown[1] + shown[0]), *DONE]
    assert await cleared([*talk, *rest, *whole]) == ["t1", "t2"]


async def test_all_but_the_last_results_are_cleared() -> None:
    """Ten stay unless the constructor says otherwise; a read that failed supersedes nothing."""
    talk = [user("Fix it"), *steps(14), *DONE]
    assert await cleared(talk) == ["s1", "s2", "s3", "s4"]
    assert len(await cleared(talk, keep=2)) == 12
    talk = [user("Fix it"), read("t1"), found("t1"), read("t2"), found("t2", "gone", is_error=True)]
    with pytest.raises(NothingToCondense):
        await clear([*talk, *DONE])


async def test_what_is_not_worth_it_or_not_read_stays() -> None:
    """Nothing is cleared twice, either."""
    calls = Message("assistant", tuple(ToolUseBlock(f"n{n}", "run", {}) for n in range(5)))
    answers = Message("user", tuple(ToolResultBlock(f"n{n}", FILE) for n in range(5)))
    talk = [user("Fix it"), *steps(2), calls, answers]
    assert await cleared(talk, keep=1) == ["s1", "s2"]
    talk = [user("Fix it"), read("t1"), found("t1", "ok " * 30), *steps(3), *DONE]
    assert await cleared(talk, keep=0) == ["s1", "s2", "s3"]
    talk = numbered([user("Fix it"), *steps(3), *DONE])
    first = await clear(talk, keep=1)
    history = hide_behind(talk, first.hidden, first.message)
    again = await reduce_with(load_strategy("clear", keep=0), effective_history(history))
    assert [call for lines in again.message.tags.cleared.values() for call in lines] == ["s3"]


def talk_of_tools(results: int) -> list[Message]:
    """Return 120 words of output for each of so many calls, and little else."""
    return [user("Fix it"), *steps(results), *DONE]


def ladder_with_clear(*replies: Any) -> Bench:
    """Return a bench whose condenser clears first."""
    return Bench(*replies, strategies=ladder_from("fresh_start", clear=True))


async def test_where_clearing_is_not_enough_the_ladder_goes_on() -> None:
    """And where it is, no model is asked."""
    bench = ladder_with_clear()
    talk = talk_of_tools(40)
    made = await bench.fit(talk, window=8_000, threshold=100, tokens=TokenCount(7_900))
    assert (made.kind, made.strategy, bench.calls) == ("cleared", "clear", 0)
    bench = ladder_with_clear("S")
    talk = [user("word " * 6_500), *steps(12), *DONE]
    made = await bench.fit(talk, window=10_000, threshold=50)
    assert made.strategy == "fresh_start"
    assert bench.failures == [(DidNotShrink, "fresh_start")]
    bench = ladder_with_clear()
    rest = {"window": 10_000, "automatic": False}
    made = await bench.fit(talk_of_tools(40), tokens=TokenCount(9_900), **rest)
    assert made.kind == "cleared"
    # A clearing could not follow a focus.
    rest = {"window": 10_000, "trigger": Trigger.MANUAL, "focus": "the names"}
    assert (await ladder_with_clear("S").fit(talk_of_tools(40), **rest)).strategy == "fresh_start"
