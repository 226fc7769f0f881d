"""Strategies compared on sessions: where they are cut, what counts as needed, what it costs."""

from decimal import Decimal

import pytest

from condense import CharacterCounter, Message, load_strategy
from condense.evaluation import (
    Cut,
    Evaluation,
    Recording,
    Share,
    cuts_at,
    evaluate,
    excerpt,
    replay,
    use_of,
    what_is_kept,
)
from condense.usage import Prices
from tests.condense.dialogues import numbered
from tests.condense.sessions import Session


def session() -> Session:
    """Return a session that was condensed once, in the middle of its work."""
    made = Session().says("Fix the parser.").reads("/app/other.py", "x" * 4_000)
    made.edits("/app/parser.py").runs("make test").runs("ls -la some/folder")
    made.is_cut("Worked on parser.py.")
    return made.replies("Going on.").edits("/app/parser.py").runs("make test").replies()


def recording(made: Session) -> Recording:
    """Return the session as if it had been read from a file."""
    cuts = tuple(Cut(cut["at"], cut["trigger"], cut["summary"]) for cut in made.cuts)
    counter = CharacterCounter()
    messages = tuple(
        Message(m.role, m.content, id=m.id, seq=m.seq, tokens=counter.count(m.content))
        for m in numbered(made.messages)
    )
    return Recording("s", messages, cuts)


async def score(*names: str, made: Session | None = None, **rest: object) -> Evaluation:
    """Return the evaluation of some strategies on a session."""
    one = recording(made or session())
    strategies = [load_strategy(name) for name in names]
    return await evaluate([lambda: one], strategies, CharacterCounter(), **rest)  # type: ignore[arg-type]


def test_needed_is_what_was_used_before_and_after() -> None:
    """By the name of a file, and by the head of a command."""
    one = recording(session())
    before, after = use_of(one.messages[:9]), use_of(one.messages[9:])
    kept = what_is_kept(before, after, "parser.py")
    assert kept.needed_files == Share(1, 1)
    assert kept.needed_commands == Share(0, 1)
    assert kept.user_messages == Share(0, 1)
    assert kept.edited_files == Share(1, 1)


def test_of_a_long_request_its_beginning_has_to_stand_there() -> None:
    """1,500 characters of it."""
    text = "".join(f"word{n} " for n in range(400))
    before = use_of(Session().says(text).messages)
    assert what_is_kept(before, use_of([]), f"x {text[:1500]}").user_messages == Share(1, 1)
    assert what_is_kept(before, use_of([]), f"x {text[:1499]}").user_messages == Share(0, 1)


async def test_the_ledger_keeps_what_is_needed() -> None:
    """A summary that names only the file does not."""
    result = await score("fresh_start", "ledger")
    assert result.compactions == 1
    ledger, fresh = result.scores["ledger"], result.scores["fresh_start"]
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
    seen = [step async for step in replay(recording(made), recording(made).cuts,
                                          load_strategy("ledger"), CharacterCounter())]  # fmt: skip
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


@pytest.mark.parametrize("name", ["fresh_start", "sliding_window", "ledger"])
async def test_any_strategy_of_the_registry_can_be_compared(name: str) -> None:
    """By its name."""
    assert name in (await score(name)).scores
