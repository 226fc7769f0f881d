"""The newest messages stay verbatim after the summary."""

import pytest

from condense import DidNotShrink, Message, Reduction, TextBlock, Trigger, safe_cuts
from condense.reduction.carryover import FIRST_MESSAGE_TITLE
from condense.strategies.keep_recent import KeepRecent
from condense.testing import ScriptedSummarizer
from tests.condense.bench import Bench, talk
from tests.condense.dialogues import IMAGE, call, chat, numbered, reduce_with, result, texts, user


async def keep(history: list[Message], /, reply: str = "S", **rest: object) -> Reduction:
    """Return what the strategy makes of a conversation."""
    options = {key: rest.pop(key) for key in ("messages", "tokens", "keep_first") if key in rest}
    strategy = KeepRecent(**options)  # type: ignore[arg-type]
    return await reduce_with(strategy, history, ScriptedSummarizer(reply), **rest)


async def test_as_many_messages_stay_as_have_room() -> None:
    """And whatever was not read, even if it is more; no cut parts a call and its result."""
    made = await keep(chat(10))
    assert made.hidden == tuple(f"m{i}" for i in range(1, 8))
    assert (made.kind, made.strategy, made.message.position) == ("condensed", "keep_recent", 7)
    made = await keep([*chat(10), *[user("word " * 20)] * 5])
    assert len(made.hidden) == 10
    assert len((await keep(chat(10), tokens=500)).hidden) == 8
    # More than half would leave too little to gain.
    assert len((await keep(chat(10), tokens=100_000)).hidden) == 5
    made = await keep(chat(10, words=300), window=1_000, trigger=Trigger.FORCED)
    assert len(made.hidden) == 8
    messages = [*chat(7), user("go"), call(), result(), Message("assistant", "done"), user("and")]
    made = await keep(messages)
    assert made.hidden == tuple(f"m{i}" for i in range(1, 9))
    assert len(made.hidden) in safe_cuts(numbered(messages))


async def test_what_stays_is_carried_once() -> None:
    """A request, or the first message where that is wanted, with its images."""
    made = await keep([*chat(8), user("Fix it"), call(), result()])
    assert len(texts(made.message)) == 1
    steps = [m for n in range(5) for m in (call(f"t{n}"), result(f"t{n}", "word " * 200))]
    once = await keep([user("Build a shop."), *steps], keep_first=True)
    assert once.message.text.count("Build a shop.") == 1
    twice = await keep([once.message, *steps], keep_first=False)
    assert texts(twice.message)[1] == "## Newest Request, Verbatim\nBuild a shop."
    first = Message("user", (TextBlock("Build a shop."), IMAGE))
    once = await keep([first, *chat(10)[1:]], keep_first=True)
    assert once.message.blocks[1:] == (TextBlock(f"{FIRST_MESSAGE_TITLE}\nBuild a shop."), IMAGE)
    twice = await keep([once.message, *chat(10)[1:]], keep_first=True)
    assert "m1" in twice.hidden
    assert twice.message.blocks[1:] == once.message.blocks[1:]


async def test_a_gain_below_a_fifth_is_none() -> None:
    """Before a call it costs none, and after it the summary is not applied."""
    messages = [*chat(2, words=10), *chat(3, words=1_000)[1:], user("word " * 1_000)]
    with pytest.raises(DidNotShrink, match="20% have to go") as caught:
        await keep(messages)
    assert caught.value.calls == 0
    with pytest.raises(DidNotShrink, match="would hardly get smaller"):
        await keep(chat(10), reply="word " * 1_100)


async def test_what_is_pinned_takes_its_room_from_the_messages_that_stay() -> None:
    """Or too many would stay, and what is carried beside them would not fit."""
    rule = user("word " * 5_000).with_tags(pinned=True)
    bench = Bench("S", strategies=[KeepRecent(messages=10)])
    made = await bench.fit([rule, *talk(12)[1:]], trigger=Trigger.FORCED)
    assert len(made.hidden) == 5
    assert made.tokens_after.value <= 23_300
