"""A scarce budget is shared out among the kinds of facts, and rules go first."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense import (
    Message,
    NothingToCondense,
    PromptCounter,
    Trigger,
    load_strategy,
    replace_hidden,
)
from condense.facts.ledger import Ledger, ledger_of
from condense.facts.notebook import budget_in, gather, ledger
from condense.facts.texts import GAP, estimate, plain_text
from tests.condense.dialogues import reduce_with
from tests.condense.sessions import Session, sessions, summary

RULES = [
    "From now on write all dates as DD.MM.YYYY.",
    "Never mention the competitor by name.",
    "Prices are always in euros, without decimals.",
    "Please don't use emojis in what you write.",
    "Use British spelling in all texts.",
    "You must cite the source after each figure.",
]


def long_session(turns: int = 60) -> Session:
    """Return a session whose facts take much more than a small window has for them."""
    session = Session().says("Build the harbour app. " + "It has to be calm. " * 40)
    for number in range(turns):
        session.says(f"Now step {number}. " + "We talked about this at length before. " * 20)
        session.edits(f"/p/module{number}.py").runs(f"make t{number}").replies("Done.")
    return session


@pytest.mark.parametrize("budget", [60, 160, 320, 1_000])
def test_the_first_and_the_newest_request_are_the_last_things_to_go(budget: int) -> None:
    """Their beginnings at least are there in any window, over many rounds too."""
    hidden = long_session().messages
    for number in range(3):
        facts = gather(hidden, budget_tokens=budget)
        assert facts.requests[0].text.startswith("Now step 59.")
        assert facts.requests[-1].text.startswith("Build the harbour app.")
        made = ledger(hidden, budget_tokens=budget)
        hidden = [summary(*Session().says("S").messages[0].blocks, *made, id_=f"s{number}")]  # type: ignore[arg-type]
    assert gather(long_session().messages, budget_tokens=1) == Ledger()


def test_each_kind_has_its_part_of_a_scarce_budget() -> None:
    """None crowds out the others."""
    session = long_session().runs("make x", "error: there is no rule for it", error=True)
    facts = gather(session.messages, budget_tokens=400)
    assert all((facts.requests, facts.files, facts.runs, facts.failures, facts.last_reply))


def test_standing_rules_of_a_long_chat_outlive_what_is_said_around_them() -> None:
    """Said early, in messages that do not stay whole, over two more rounds; all if they fit."""
    many = [f"Never change module{number} or what the harbour has of it." for number in range(60)]
    talk = "This is what we are to do with you. " * 80
    hidden = Session().reads("/a", "x" * 80_000).says(f"{talk}{' '.join(many)} {talk}").messages
    assert gather(hidden).rules == tuple(reversed(many))
    chance = random.Random(1)  # noqa: S311 - words of a made-up chat
    words = [f"word{number}" for number in range(400)]
    session = Session().says("This is what we are to do with you.")
    for number in range(240):
        said = " ".join(chance.choices(words, k=60)) + f" is what I saw at {number}."
        rule = (
            RULES[number // 12 - 1] if number % 12 == 0 and 0 < number // 12 <= len(RULES) else ""
        )
        session.says(f"{said} {rule} {said}").replies(" ".join(chance.choices(words, k=300)))
    hidden = session.messages
    for number in range(3):
        (block,) = ledger(hidden, budget_tokens=4_000)
        assert all(rule in block.text for rule in RULES)
        made = summary(*Session().says("S").messages[0].blocks, block, id_=f"s{number}")  # type: ignore[arg-type]
        hidden = [made, *long_session(20).messages]


ODD = [
    "Humour is fine, sarcasm isn't.", "I fast during Ramadan.", "The logo is sacred.",
    "Latex makes my skin burn.", "Ich faste im Ramadan.", "Le latex me brûle la peau.",
    "Округляй до целых рублей.", "客户的名字哪里都不出现。", "署名は全部「庭」にして。",
    "मज़ाक चलेगा, ताना नहीं।",
]  # fmt: skip


def test_short_statements_of_long_messages_outlive_rounds_whatever_their_words() -> None:
    """One may be a rule that no form shows."""
    chance = random.Random(1)  # noqa: S311 - words of a made-up chat

    def talk(words: int) -> str:
        return " ".join(chance.choices(["what", "was", "seen", "there", "of", "it"], k=words))

    session = Session().says("This is what we are to do with you.")
    for number in range(90):
        odd = f"\nDoes it {number}?\nx = {number};\n{ODD[number // 5]}" if number < 50 else ""
        session.says(f"{talk(60)}.{odd}\n{talk(60)} {number}.").replies(talk(99))
    hidden = session.messages
    for number in range(3):
        (block,) = ledger(hidden, budget_tokens=4_000)
        assert [rule for rule in ODD if rule not in block.text] == []
        made = summary(*Session().says("S").messages[0].blocks, block, id_=f"s{number}")  # type: ignore[arg-type]
        hidden = [made, *long_session(20).messages]


@pytest.mark.parametrize("knows", [True, False])
async def test_a_rule_that_only_meaning_shows_outlives_rounds(knows: bool) -> None:
    """Among more statements than there is room for; only people's are looked at, and no others."""
    rule, asked, told = "Grandad leaves when anybody brings up the war.", list[str](), "Oma, Brot."

    def rules_among(sentences: Sequence[str]) -> list[str]:
        asked.extend(sentences)
        return [one for one in sentences if one == rule and knows]

    effective: tuple[Message, ...] = ()
    for number in range(3):
        session = Session().says(f"Dinner. {rule if number == 0 else ''}").replies(told)
        for at in range(400):
            session.says(f"We saw number {at} of street {number}.").replies(told)
        new = [replace(one, id=f"{number}-{one.id}") for one in session.messages]
        made = await reduce_with(
            load_strategy("ledger"), (*effective, *new), trigger=Trigger.MANUAL,
            rules_among=rules_among,
        )  # fmt: skip
        effective = (replace(made.message, id=f"s{number}"),)
    facts = ledger_of(effective[0])
    assert facts is not None
    assert (rule in facts.rules) == knows
    assert rule in asked
    assert told not in asked


def test_neither_what_is_said_again_nor_a_rest_takes_the_room_of_a_statement() -> None:
    """In a window in which only some statements have room."""
    session, talk = Session(), "This is what was seen of it, and what was not seen of it. " * 9
    for number in range(60):
        odd = ODD[1] if number == 50 else ""
        session.says(f"{talk}\nIt is so again.\nand it went on so to {number}.\n{odd}\n{talk}")
        session.replies(talk * 9)
        session.says("cilantro is the devil" if number == 5 else f"what was {number}?")
    (block,) = ledger(session.messages, budget_tokens=700)
    assert ODD[1] in block.text
    assert "cilantro is the devil" in block.text


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
    """4 % of a large one; a tenth of a small one, or 1,000 tokens; of a chat, a seventh at most."""
    sizes = {window: budget_in(window) for window in (0, 4_000, 8_000, 16_000, 32_000, 200_000)}
    assert sizes == {0: 8_000, 4_000: 400, 8_000: 800, 16_000: 1_000, 32_000: 1_280, 200_000: 8_000}
    session = Session()
    for number in range(25):
        session.says(f"Part {number} is short.").says("So here we are. " * 40).replies(
            "Well. " * 60
        )
    (block,) = ledger(session.messages)
    assert estimate(block.text) <= 0.14 * estimate(plain_text(session.messages))
    facts = gather(session.messages)
    assert any(one.text == "Part 12 is short." for one in facts.requests)


def test_of_a_long_request_beginning_and_end_stay() -> None:
    """Where the question may be; a gap stands between. More stays of it where others need less."""
    plan = "".join(f"{number}. Change module{number}.\n" for number in range(240)).strip()
    text, sizes = f"{plan}\nDoes that make sense?", []
    for read in (60_000, 500_000, 900_000):
        talk = Session().reads("/a", "x" * read).says(text).says(plan[:1_700])
        short, request = gather(talk.messages).requests
        assert short.text == plan[:1_700]
        head, _, tail = request.text.partition(f"\n{GAP}\n")
        assert text.startswith(head)
        assert text.endswith(tail)
        sizes.append(len(request.text))
    assert 1_800 < sizes[0] < sizes[1] < sizes[2] == len(text)


def test_of_a_long_plan_lists_and_figures_stay_before_prose_and_code() -> None:
    """Between its beginning and its end."""
    prose = "It was thought over again and again, and all agree that it is good so. " * 4
    parts = [
        f"{prose}\nfoo(a) = {at};\n- Move part {at} first.\nIt takes {at} days." for at in range(40)
    ]
    text = "Carry this out:\n" + "\n".join(parts) + "\nDo you agree?"
    (request,) = gather(Session().reads("/a", "x" * 60_000).says(text).messages).requests
    assert request.text.startswith(text[:1_400])
    assert request.text.endswith("Do you agree?")
    middle = "".join(request.text.split(f"\n{GAP}\n")[1:-1])
    assert middle.count("- Move part") > 5
    assert "thought over" not in middle
    assert middle.count("foo") <= 1


def test_a_plan_among_many_short_messages_keeps_its_lists_and_figures() -> None:
    """And what is said around it keeps its room; over more rounds, too."""
    prose = "It was thought over again and again, and all agree that it is good so. " * 9
    told = ("- 40 beams", "- 6 skylights", "1. tin for 120 square metres", "It costs 18,400 euros")
    session = Session().says("\n".join([f"{prose}\n{one}\n{prose}" for one in told]))
    for number in range(900):
        session.says(f"so it was on day {number} of them").replies("it was so, and was it not so")
    hidden = session.messages
    for number in range(3):
        (block,) = ledger(hidden, budget_tokens=1_500)
        assert [one for one in told if one not in block.text] == []
        assert block.text.count("day ") > 9
        made = summary(*Session().says("S").messages[0].blocks, block, id_=f"s{number}")  # type: ignore[arg-type]
        hidden = [made, *long_session(20).messages]


ROUNDS = st.tuples(st.sampled_from(["ledger", "sliding_window"]), sessions())
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
        new = [replace(m, id=f"{number}-{place}") for place, m in enumerate([*messages, read], 1)]
        everything += new
        effective = await condensed((*effective, *new), name)
    return gather(effective), gather(everything)


@given(st.lists(ROUNDS, min_size=1, max_size=3))
async def test_no_chain_of_reductions_loses_a_fact(rounds: list[tuple[str, list[Message]]]) -> None:
    """Requests word for word and newest first, all files, and the to-do list as it was left."""
    known, seen = await lived_through(rounds)
    assert known.requests == seen.requests
    assert set(known.files) == set(seen.files)
    assert (known.todos, known.done) == (seen.todos, seen.done)
    assert {run.head for run in seen.runs} <= {run.head for run in known.runs}
