"""The last twenty messages, or the newest exchange, stay; no model is called for the rest."""

from collections.abc import Sequence

import pytest

from condense import Message, NothingToCondense, Reduction, load_strategy, parse_ledger
from tests.condense.dialogues import call, chat, reduce_with, result, texts, user


async def keep(name: str, messages: Sequence[Message]) -> Reduction:
    """Return what the strategy of that name makes of a conversation."""
    return await reduce_with(load_strategy(name), messages)


async def test_all_but_the_last_twenty_or_the_newest_exchange_are_hidden() -> None:
    """With their facts in the marker; a call stays with its result, a request with its work."""
    made = await keep("last_messages", [user("Fix it"), call(), result(), *chat(20)])
    assert made.hidden == ("m1", "m2", "m3")
    assert (made.kind, made.strategy, made.cost) == ("truncated", "last_messages", 0)
    facts = parse_ledger(texts(made.message)[2])
    assert [one.path for one in facts.files] == ["a.py"]
    messages = [*chat(4), call(), result(), *chat(19)]
    made = await keep("last_messages", messages)
    assert len(made.hidden) == 4
    work = [user("Go"), call(), result(), call("t2"), result("t2", "word " * 5_000)]
    made = await keep("newest_exchange", [*chat(4), *work])
    assert made.hidden == ("m1", "m2", "m3", "m4")
    assert made.kind == "truncated"


@pytest.mark.parametrize("name", ["last_messages", "newest_exchange"])
@pytest.mark.parametrize("messages", [[], [call(), result()]])
async def test_where_nothing_stands_before_that_nothing_is_hidden(
    name: str, messages: list[Message]
) -> None:
    """As any strategy says it."""
    with pytest.raises(NothingToCondense):
        await keep(name, messages)
