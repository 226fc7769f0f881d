"""Where nothing but truncation is allowed, a run fails only when the newest request is too large.

That is with automatic condensing off, and in a window with no room for a summary.
"""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condense import (
    CannotFit,
    Condenser,
    Gauge,
    Message,
    Situation,
    Trigger,
    count_messages,
    ladder_from,
    replace_hidden,
)
from condense.testing import ScriptedSummarizer, WordCounter
from tests.condense.bench import Bench
from tests.condense.dialogues import call, chat, result, situation, user

# A marker that says how many messages are hidden, and that a request was too long to be carried.
MARKER = 60
# And one that says what was hidden unread.
TOLD = 45

SIZES = st.one_of(st.integers(1, 30), st.integers(100, 900))


@st.composite
def talks(draw: st.DrawFn) -> list[Message]:
    """Return messages of any size: requests, answers, and tool calls with large results."""
    talk: list[Message] = []
    for number in range(draw(st.integers(1, 8))):
        talk.append(user("word " * draw(SIZES)))
        for step in range(draw(st.integers(0, 2))):
            name = f"t{number}_{step}"
            talk += [call(name, f"src/{name}.py"), result(name, "word " * draw(SIZES))]
        talk.append(Message("assistant", "word " * draw(SIZES)))
    return talk[: len(talk) - draw(st.integers(0, min(2, len(talk) - 1)))]


def fit(given_situation: Situation) -> int:
    """Return the words that the model sees after the run, or raise why it can't go on."""
    condenser = Condenser(ScriptedSummarizer(), WordCounter(), ladder_from("fresh_start"))
    made = asyncio.run(condenser.fit(given_situation))
    seen = given_situation.effective
    if made:
        seen = replace_hidden(seen, made.hidden, made.message)
    return count_messages(seen, WordCounter()) + Gauge(given_situation, WordCounter()).fixed


def least(given_situation: Situation) -> int:
    """Return the words of what no truncation hides: a request that came last, and the marker."""
    newest = given_situation.effective[-1]
    kept = TOLD if newest.tool_results else newest.text.count("word")
    return kept + MARKER + Gauge(given_situation, WordCounter()).fixed


@pytest.mark.parametrize("trigger", [Trigger.AUTO, Trigger.FORCED])
@pytest.mark.parametrize("automatic", [False, True])
@settings(max_examples=10, deadline=None)
@given(talk=talks(), window=st.integers(400, 6_000), system=st.integers(0, 300))
def test_no_error_comes_while_anything_can_still_be_hidden(
    talk: list[Message], window: int, system: int, *, automatic: bool, trigger: Trigger
) -> None:
    """Everything but a request that came last can, and then the request fits the window."""
    given_situation = situation(
        talk,
        window=window,
        system="word " * system,
        automatic=automatic,
        threshold=100,
        trigger=trigger,
    )
    try:
        assert fit(given_situation) <= given_situation.room
    except CannotFit:
        # A marker that takes more than what it would hide helps nobody.
        carried = next(one.text for one in reversed(talk) if one.role == "user" and one.text)
        gains_nothing = least(given_situation) + carried.count("word")
        assert (
            least(given_situation) >= given_situation.room
            or gains_nothing >= given_situation.tokens.value
        )


async def test_what_would_not_help_hides_nothing() -> None:
    """The turn ends with the reason, and all that was visible stays so."""
    bench = Bench(strategies=ladder_from("fresh_start"))
    talk = [*chat(4), user("word " * 8_000)]
    with pytest.raises(CannotFit, match=r"newest message 8,000 tokens, and 6,200 are allowed"):
        await bench.fit(talk, window=7_000, automatic=False)
    assert "succeeded" not in bench.log.names
