"""A scarce budget goes to what weighs most, and the first request goes last."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condense import Message, NothingToCondense, PromptCounter, load_strategy, replace_hidden
from condense.notes.ledger import Ledger
from condense.notes.notebook import budget_in, gather, ledger
from tests.condense.dialogues import reduce_with
from tests.condense.sessions import Session, sessions, summary

RULE = "Never touch the port 8080."


def long_session(turns: int = 60) -> Session:
    """Return a session whose facts take much more than a small window has for them."""
    session = Session().says("Build the harbour app. " + "It has to be calm. " * 40)
    for number in range(turns):
        session.says(f"Now step {number}. " + "We talked about this at length before. " * 20)
        session.edits(f"/p/module{number}.py").runs(f"make t{number}").replies("Done.")
    return session


@pytest.mark.parametrize("budget", [60, 160, 320, 1_000])
def test_the_first_request_is_the_last_thing_to_go(budget: int) -> None:
    """Its beginning at least is there in any window."""
    facts = gather(long_session().messages, budget_tokens=budget)
    assert facts.requests[-1].text.startswith("Build the harbour app.")


def test_the_first_request_outlives_many_rounds_in_a_small_window() -> None:
    """As the ledger goes on from one to the next."""
    hidden = long_session().messages
    for number in range(5):
        made = summary(*ledger(hidden, budget_tokens=320), id_=f"s{number}")
        hidden = [made, *long_session().messages[1:]]
    assert gather(hidden, budget_tokens=320).requests[-1].text.startswith("Build the harbour app.")


def test_of_long_requests_the_telling_sentences_stay() -> None:
    """What sets a rule or gives a figure outlives what only talks."""
    session = long_session(20)
    session.says("Let me tell you a story first. " * 30 + RULE + " It goes on and on. " * 30)
    facts = gather(session.says("Go on.").messages, budget_tokens=2_000)
    kept = [request.text for request in facts.requests if RULE in request.text]
    assert kept
    assert len(kept[0]) < 200


def test_each_kind_has_its_part_of_a_scarce_budget() -> None:
    """None crowds out the others."""
    session = long_session().replies("Your booking number is LX-48213.")
    facts = gather(session.messages, budget_tokens=400)
    assert all((facts.requests, facts.files, facts.runs, facts.statements))


@pytest.mark.parametrize("budget", [50, 320, 2_000])
def test_no_budget_is_exceeded_in_any_script(budget: int) -> None:
    """Counted by the vocabulary where there is a counter."""
    counter = PromptCounter()
    session = Session()
    for number in range(40):
        session.says(f"第{number}步:请把这个模块改成新的接口,保持原来的行为不变。" * 20)
    (block,) = ledger(session.messages, budget_tokens=budget, counter=counter) or (None,)
    assert block is None or counter.count(block.text) <= budget


def test_a_ledger_may_take_a_larger_share_of_a_small_window() -> None:
    """4 % of a large one; a tenth of a small one, or 1,000 tokens; and some of an unknown one."""
    sizes = {window: budget_in(window) for window in (0, 4_000, 8_000, 16_000, 32_000, 200_000)}
    assert sizes == {0: 8_000, 4_000: 400, 8_000: 800, 16_000: 1_000, 32_000: 1_280, 200_000: 8_000}


def test_first_and_newest_request_stay_whole_where_others_are_cut_to_what_they_tell() -> None:
    """Chatting is cut where a ledger takes more than a tenth of what it stands for."""
    session = Session()
    for number in range(40):
        session.says(f"So here we are, part {number}. " + "We talked about this at length. " * 20)
    newest, *between, first = gather(session.messages).requests
    assert "[…]" not in newest.text + first.text
    assert all("[…]" in request.text for request in between)


def test_of_the_commands_that_come_again_as_many_older_ones_stay_as_recent_ones() -> None:
    """Short ones do, however old they are, up to a number of them."""
    session = Session()
    for number in range(80):
        session.runs(f"make t{number}", "ok")
    heads = [run.head for run in gather(session.messages).runs]
    assert heads == [f"make t{number}" for number in reversed(range(10, 80))]


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


@settings(max_examples=40, deadline=None)
@given(st.lists(ROUNDS, min_size=1, max_size=5))
async def test_no_chain_of_reductions_loses_a_fact(
    rounds: list[tuple[str, list[Message]]],
) -> None:
    """Requests word for word and newest first, all files, and the to-do list as it was left."""
    known, seen = await lived_through(rounds)
    assert known.requests == seen.requests
    assert {file.path for file in known.files} == {file.path for file in seen.files}
    assert (known.todos, known.done) == (seen.todos, seen.done)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(["ledger", "sliding_window"]), max_size=4), sessions())
async def test_a_reduction_that_hides_nothing_new_forgets_nothing(
    names: list[str], messages: list[Message]
) -> None:
    """However often it is repeated."""
    known, seen = await lived_through([("ledger", messages), *((name, ()) for name in names)])
    assert known.requests == seen.requests
    assert {run.head for run in known.runs} == {run.head for run in seen.runs}
