"""Where nothing but truncation is allowed, a run fails only when the newest exchange is too large.

That is with automatic condensing off, and in a window with no room for a summary.
"""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condense import (
    CannotFit,
    Condenser,
    Message,
    Situation,
    count_messages,
    ladder_from,
    replace_hidden,
    unread_tail,
)
from condense.testing import ScriptedSummarizer, WordCounter
from tests.condense.bench import Bench
from tests.condense.dialogues import call, chat, result, situation, user

# A marker that says how many messages are hidden, and that a request was too long to be carried.
MARKER = 40

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
    return count_messages(seen, WordCounter()) + given_situation.fixed_tokens(WordCounter())


@pytest.mark.parametrize("automatic", [False, True])
@settings(max_examples=300, deadline=None)
@given(talk=talks(), window=st.integers(400, 6_000), system=st.integers(0, 300))
def test_a_run_fails_only_where_the_newest_exchange_does_not_fit(
    talk: list[Message], window: int, system: int, *, automatic: bool
) -> None:
    """Anything before it can be hidden, so the request fits into the window afterwards."""
    given_situation = situation(
        talk, window=window, system="word " * system, automatic=automatic, threshold=100
    )
    capacity = given_situation.budget.capacity
    try:
        assert fit(given_situation) <= capacity
    except CannotFit:
        newest = given_situation.effective[unread_tail(given_situation.effective) :]
        assert count_messages(newest, WordCounter()) + system + MARKER > capacity


async def test_a_few_long_messages_are_hidden_one_after_the_other() -> None:
    """Half of them is not enough: the ledger of what it hides takes what was gained."""
    bench = Bench(strategies=ladder_from("fresh_start"))
    made = await bench.fit(chat(9, words=3_000), window=16_000, automatic=False)
    assert made is not None
    assert made.kind == "truncated"
    assert made.tokens_after.value <= 16_000 * 0.9 - 100
    assert bench.calls == 0


async def test_what_would_not_help_hides_nothing() -> None:
    """The turn ends with the reason, and all that was visible stays so."""
    bench = Bench(strategies=ladder_from("fresh_start"))
    talk = [*chat(4), user("word " * 8_000)]
    with pytest.raises(CannotFit, match=r"newest message 8,000 tokens, and 6,200 are allowed"):
        await bench.fit(talk, window=7_000, automatic=False)
    assert "succeeded" not in bench.log.names
