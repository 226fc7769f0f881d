"""Strategies compared on sessions: where they are cut, what counts as needed, what it costs."""

from decimal import Decimal

import pytest

from condense import CharacterCounter
from condense.evaluation import (
    Course,
    Cut,
    Evaluation,
    Replay,
    Share,
    all_contenders,
    chats,
    contender,
    cuts_at,
    evaluate,
    even_cuts,
    excerpt,
)
from condense.usage import Prices
from tests.condense.evaluation.recorded import recording, session
from tests.condense.sessions import Session


async def score(*names: str, made: Session | None = None, **rest: object) -> Evaluation:
    """Return the evaluation of some strategies on a session."""
    one = recording(made or session())
    contenders = [contender(name) for name in names]
    return await evaluate([lambda: one], contenders, CharacterCounter(), **rest)  # type: ignore[arg-type]


def test_even_cuts_part_a_session_into_like_stretches() -> None:
    """Before replies, as many as there are places for."""
    made = Session()
    for number in range(12):
        made.reads(f"/{number:02}", "x" * 400)
    cuts = even_cuts(recording(made).messages, 3)
    assert [cut.at for cut in cuts] == [6, 12, 18]
    assert even_cuts(recording(Session().says("Hi.").replies()).messages, 3) == (Cut(1, "round"),)


def test_every_chat_that_comes_along_has_facts_of_both_sides_before_its_cut() -> None:
    """In its messages, without the marks; most of the text is about something else."""
    loaded = [load() for load in chats(CharacterCounter())]
    assert {one.name.partition(".")[2] for one in loaded} >= {"en", "de", "zh", "ja", "ar"}
    for one in loaded:
        (cut,) = one.cuts
        assert all(fact.text in one.messages[fact.at].text for fact in one.facts)
        assert all(fact.at < cut.at for fact in one.facts)
        assert {one.messages[fact.at].role for fact in one.facts} == {"user", "assistant"}
        assert not any("[[" in message.text for message in one.messages)
        whole = sum(len(message.text) for message in one.messages)
        assert sum(len(m.text) for m in one.messages if m.role == "user") < whole / 10


async def test_only_the_cuts_of_a_course_count() -> None:
    """The earlier ones are made all the same."""
    made = session().is_cut("Second.").replies().runs("make test")
    result = await score("ledger", made=made, course=Course(counts_from=1))
    assert result.compactions == 1
    assert len(result.scores["ledger"].sizes) == 1


async def test_in_a_small_window_a_ledger_is_smaller() -> None:
    """It takes a share of it."""
    made = Session().says("Do this: " + "very long words " * 500).is_cut().replies()
    large = await score("ledger", made=made)
    small = await score("ledger", made=made, course=Course(window=4_000))
    assert small.scores["ledger"].tokens < large.scores["ledger"].tokens


async def test_the_default_has_the_files_that_the_recording_shows() -> None:
    """As signatures, beside its summary; a file that leads out of its folder is left out."""
    made = Session().says("Fix it. " * 900)
    made.reads("/app/a.py", "     1\u2192def read_token(text):\n     2\u2192    return text[0]")
    made.calls("Write", file_path="/app/b.py", content="class Parser:\n    def parse(self): ...")
    made.reads("/app/b.py").reads("/../c.py", "     1\u2192def lost(): ...")
    one = recording(made.is_cut("A summary.").replies())
    (step,) = [
        step async for step in Replay(contender("default"), CharacterCounter()).run(one, one.cuts)
    ]
    assert step.reduction
    assert step.reduction.folded
    assert step.reduction.folded.included == ("app/b.py", "app/a.py")
    assert "def read_token(text)" in step.after[0].text
    assert "class Parser" in step.after[0].text


async def test_the_default_has_the_ledger_beside_its_summary() -> None:
    """As it ships."""
    found = (await score("default")).scores["default"].kept
    assert (found.needed_files, found.needed_commands) == (Share(1, 1), Share(1, 1))


async def test_the_ledger_keeps_what_is_needed() -> None:
    """A summary that names only the file does not."""
    result = await score("fresh_start", "ledger")
    assert result.compactions == 1
    ledger, fresh = result.scores["ledger"].kept, result.scores["fresh_start"].kept
    assert (ledger.needed_files, ledger.needed_commands) == (Share(1, 1), Share(1, 1))
    assert ledger.user_messages == Share(1, 1)
    assert (fresh.needed_files, fresh.needed_commands) == (Share(1, 1), Share(0, 1))


async def test_only_a_strategy_that_asks_a_model_pays_for_the_call() -> None:
    """Read from the cache, or sent anew; what follows is written to the cache either way."""
    result = await score("fresh_start", "sliding_window", "ledger")
    fresh = result.scores["fresh_start"]
    assert fresh.flattened > fresh.aligned
    for name in ("sliding_window", "ledger"):
        one = result.scores[name]
        assert one.aligned == one.flattened == Decimal("3.75") * one.tokens / 1_000_000


async def test_prices_are_the_callers() -> None:
    """Nothing costs anything where nothing is charged."""
    result = await score("fresh_start", prices=Prices())
    assert result.scores["fresh_start"].flattened == 0


async def test_a_later_cut_goes_on_from_what_the_strategy_left() -> None:
    """The ledger is carried on by its own summary."""
    made = session().is_cut("Second.").replies().runs("make test")
    one, runs = recording(made), Replay(contender("ledger"), CharacterCounter())
    seen = [step async for step in runs.run(one, one.cuts)]
    assert len(seen) == 2
    assert seen[1].before[0].is_summary
    assert "Fix the parser." in seen[1].after[0].text
    assert len(seen[1].after) == 1


async def test_a_strategy_that_can_do_nothing_keeps_all() -> None:
    """That is its size."""
    made = Session().says("Hello.").is_cut().replies()
    result = await score("sliding_window", made=made)
    assert result.scores["sliding_window"].size_share == 1


def test_a_threshold_cuts_before_replies_and_counts_anew() -> None:
    """No call is parted from its result."""
    one = recording(Session().reads("/a", "x" * 400).reads("/b", "x" * 400).reads("/c", "x" * 400))
    assert [cut.at for cut in cuts_at(one.messages, 100)] == [2, 4]
    assert cuts_at(one.messages, 100_000) == ()


def test_an_excerpt_is_the_newest_replies_first_lines() -> None:
    """A stand-in that is always the same."""
    messages = Session().says("x" * 200).replies("One.\nMore.").replies("Two.").messages
    assert excerpt(messages) == "Two."
    assert excerpt([]) == "Nothing was said."


@pytest.mark.parametrize("name", all_contenders())
async def test_any_strategy_of_the_registry_can_be_compared(name: str) -> None:
    """By its name."""
    assert name in (await score(name)).scores
