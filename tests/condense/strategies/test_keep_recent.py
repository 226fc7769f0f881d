"""The newest messages stay verbatim after the summary."""

import pytest

from condense import (
    DidNotShrink,
    Message,
    NothingToCondense,
    Reduction,
    Trigger,
    load_strategy,
    safe_cuts,
)
from condense.strategies.keep_recent import KeepRecent
from condense.testing import ScriptedSummarizer
from tests.condense.dialogues import call, chat, numbered, reduce_with, result, texts, user


async def keep(history: list[Message], /, reply: str = "S", **rest: object) -> Reduction:
    """Return what the strategy makes of a conversation."""
    options = {key: rest.pop(key) for key in ("messages", "tokens") if key in rest}
    strategy = KeepRecent(**options)  # type: ignore[arg-type]
    return await reduce_with(strategy, history, ScriptedSummarizer(reply), **rest)


async def test_the_last_three_messages_stay() -> None:
    """The number users of older Roo versions know."""
    made = await keep(chat(10))
    assert made.hidden == tuple(f"m{i}" for i in range(1, 8))
    assert (made.kind, made.strategy, made.message.position) == ("condensed", "keep_recent", 7)


async def test_how_many_stay_is_the_constructors() -> None:
    """Configuration is in the constructor."""
    assert len((await keep(chat(10), messages=5)).hidden) == 5


async def test_a_call_and_its_result_stay_together() -> None:
    """One more stays where the cut would part them."""
    messages = [*chat(7), user("go"), call(), result(), Message("assistant", "done"), user("and")]
    made = await keep(messages)
    assert made.hidden == tuple(f"m{i}" for i in range(1, 9))
    assert len(made.hidden) in safe_cuts(numbered(messages))


async def test_what_was_not_read_stays_even_if_it_is_more() -> None:
    """Five questions in a row are all to be answered."""
    made = await keep([*chat(10), *[user("word " * 20)] * 5])
    assert len(made.hidden) == 10


async def test_as_many_as_the_tokens_allow_stay() -> None:
    """Messages of 200 words: two fit into 500."""
    assert len((await keep(chat(10), tokens=500)).hidden) == 8


async def test_fewer_stay_where_there_is_no_room() -> None:
    """Three of 300 words would leave no room for a summary in a window of 1,000."""
    made = await keep(chat(10, words=300), window=1_000, trigger=Trigger.FORCED)
    assert len(made.hidden) == 8


async def test_a_request_that_stays_is_not_carried_as_well() -> None:
    """It can be read in its own place."""
    made = await keep([*chat(8), user("Fix it"), call(), result()])
    assert len(texts(made.message)) == 1


async def test_too_few_messages_are_left_alone() -> None:
    """All of them would stay, so no model is asked."""
    with pytest.raises(NothingToCondense, match="Not enough messages"):
        await keep(chat(3))


async def test_a_gain_below_a_fifth_is_none_and_costs_no_call() -> None:
    """What stays is nearly everything."""
    messages = [*chat(2, words=10), *chat(3, words=1_000)[1:], user("word " * 1_000)]
    with pytest.raises(DidNotShrink, match="20% have to go") as caught:
        await keep(messages)
    assert caught.value.calls == 0


async def test_a_long_summary_that_gains_less_than_a_fifth_is_rolled_back() -> None:
    """A tenth would do elsewhere."""
    with pytest.raises(DidNotShrink, match="would hardly get smaller"):
        await keep(chat(10), reply="word " * 1_100)


def test_it_is_known_by_its_name() -> None:
    """As settings name it."""
    assert load_strategy("keep_recent").name == "keep_recent"
