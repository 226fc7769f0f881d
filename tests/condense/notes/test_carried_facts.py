"""Facts outlive any number of condensations and truncations, in whatever order they come."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from condense import Message, NothingToCondense, load_strategy, replace_hidden
from condense.notes.ledger import Ledger
from condense.notes.notebook import gather
from tests.condense.dialogues import reduce_with
from tests.condense.sessions import sessions

ROUNDS = st.tuples(st.sampled_from(["ledger", "sliding_window"]), sessions())
# Enough words for all facts, so that none is left out for want of room.
WINDOW = 1_000_000


async def condensed(effective: tuple[Message, ...], name: str) -> tuple[Message, ...]:
    """Return the history after a run of this strategy, as it is where there is nothing to hide."""
    try:
        made = await reduce_with(load_strategy(name), (), effective=effective, window=WINDOW)
    except NothingToCondense:
        return effective
    message = replace(made.message, id=f"made-{effective[-1].id}")
    return replace_hidden(effective, made.hidden, message)


async def lived_through(rounds: Sequence[tuple[str, Sequence[Message]]]) -> tuple[Ledger, Ledger]:
    """Return what is known after all rounds, and what is known to who has seen it all."""
    effective: tuple[Message, ...] = ()
    everything: list[Message] = []
    for number, (name, messages) in enumerate(rounds):
        read = Message("assistant", "Done.")
        new = [
            replace(m, id=f"{number}-{place}") for place, m in enumerate([*messages, read], start=1)
        ]
        everything += new
        effective = await condensed((*effective, *new), name)
    return gather(effective), gather(everything)


@settings(max_examples=150, deadline=None)
@given(st.lists(ROUNDS, min_size=1, max_size=5))
async def test_no_chain_of_reductions_loses_a_fact(
    rounds: list[tuple[str, list[Message]]],
) -> None:
    """Requests word for word and newest first, all files, and the to-do list as it was left."""
    known, seen = await lived_through(rounds)
    assert known.requests == seen.requests
    assert {file.path for file in known.files} == {file.path for file in seen.files}
    assert (known.todos, known.done) == (seen.todos, seen.done)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["ledger", "sliding_window"]), max_size=4), sessions())
async def test_a_reduction_that_hides_nothing_new_forgets_nothing(
    names: list[str], messages: list[Message]
) -> None:
    """However often it is repeated."""
    known, seen = await lived_through([("ledger", messages), *((name, ()) for name in names)])
    assert known.requests == seen.requests
    assert {run.head for run in known.runs} == {run.head for run in seen.runs}
