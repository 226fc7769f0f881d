"""Strategies compared on sessions: where they are cut, what counts as needed, what it costs."""

from dataclasses import replace
from decimal import Decimal

import pytest

from condense import CharacterCounter, Message, TextBlock
from condense.evaluation import (
    Course,
    Cut,
    Evaluation,
    Fact,
    Kept,
    Recording,
    Replay,
    Share,
    all_contenders,
    chats,
    contender,
    cuts_at,
    evaluate,
    even_cuts,
    excerpt,
    needs_at,
    what_is_kept,
)
from condense.usage import Prices
from tests.condense.dialogues import numbered
from tests.condense.sessions import Session, summary


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
    contenders = [contender(name) for name in names]
    return await evaluate([lambda: one], contenders, CharacterCounter(), **rest)  # type: ignore[arg-type]


def kept(made: Session, text: str, *verbatim: Message, facts: tuple[Fact, ...] = ()) -> Kept:
    """Return what a summary, and messages after it, keep at the session's first cut."""
    one = replace(recording(made), facts=facts)
    context = [summary(TextBlock(text)), *verbatim]
    return what_is_kept(needs_at(one, one.cuts[0]), context)


def test_needed_is_what_was_used_before_and_after() -> None:
    """By the name of a file, and by the head of a command."""
    found = kept(session(), "parser.py")
    assert found.needed_files == Share(1, 1)
    assert found.needed_commands == Share(0, 1)
    assert found.user_messages == Share(0, 1)
    assert found.edited_files == Share(1, 1)


def test_of_a_long_request_its_beginning_has_to_stand_there() -> None:
    """1,500 characters of it."""
    text = "".join(f"word{n} " for n in range(400))
    made = Session().says(text).is_cut()
    assert kept(made, f"x {text[:1500]}").user_messages == Share(1, 1)
    assert kept(made, f"x {text[:1490]}").user_messages == Share(0, 1)


def test_characters_of_users_count_as_far_as_they_stand_there() -> None:
    """However lines are broken; a long text half of which is left is half kept."""
    line = "All of these words are kept to the letter, and none of the others."
    made = Session().says(f"{line}\n{'lost ' * 10}").is_cut()
    found = kept(made, line.replace(" ", "\n"))
    assert found.user_characters == Share(len(line) - 1, len(line) - 1 + 49)


@pytest.mark.parametrize(
    "answer",
    [
        "The user doesn't want to proceed. To tell you how, the user said:\nno duplication please",
        "The user denied this and gave feedback:\n<feedback>\nno duplication please\n</feedback>",
        "User rejected the call with the reason: no duplication please",
    ],
)
def test_words_of_users_in_results_are_told_by_what_clients_answer(answer: str) -> None:
    """A refusal's reason; a file that tells of users is none."""
    made = Session().runs("make", answer, error=True).runs("cat notes", "Every user said: yes")
    assert kept(made.is_cut(), "no\nduplication please").result_words == Share(1, 1)
    assert kept(made, "no duplication").result_words == Share(0, 1)


def test_answers_and_approved_plans_are_words_of_users_too() -> None:
    """They stand in results of questions, and in the call that the user approved."""
    made = Session().calls("Ask", 'Answers: "Which?"="The blue one"', questions=[{"question": "?"}])
    made.calls("Ask", "<answer>Tomorrow</answer>", question="When?")
    made.calls("ExitPlanMode", "Approved.", plan="1. Read 2. Write").is_cut()
    assert kept(made, "The blue one. Tomorrow. 1. Read 2. Write").result_words == Share(3, 3)


def test_what_the_next_calls_name_of_the_history_is_looked_for() -> None:
    """Paths, commands and identifiers; what only the calls themselves bring up is not."""
    made = Session().reads("/app/core/parser.py", "def read_token(): ...").runs("make test")
    made.is_cut().replies("Going on.").runs("make test")
    made.calls(
        "Edit", file_path="/app/core/parser.py", old_string="read_token", new_string="newOne"
    )
    made.calls("Edit", file_path="/app/core/parser.py", old_string="read_token", new_string="x")
    found = kept(made, "See core: parser.py; make  test")
    assert found.next_paths == Share(1, 1)
    assert found.next_commands == Share(1, 1)
    assert found.next_identifiers == Share(0, 1)
    assert found.next_items == Share(2, 3)


def test_an_action_is_whole_where_nothing_that_it_names_is_missing() -> None:
    """Or it was seen again since the cut."""
    made = Session().reads("/app/core/parser.py", "def read_token(): ...").is_cut().replies("So.")
    edit = {"file_path": "/app/core/parser.py", "old_string": "read_token", "new_string": "x"}
    made.calls("Edit", **edit).reads("/app/core/parser.py", "def read_token(): ...")
    made.calls("Edit", **edit)
    found = kept(made, "core/parser.py")
    assert found.actions == Share(2, 3)


def test_unseen_is_what_no_message_holds_when_it_is_first_named() -> None:
    """What a kept message says has not to be supplied."""
    made = Session().reads("/app/core/parser.py", "def read_token(): skip_space()").is_cut()
    made.replies("So.").runs("grep read_token skip_space")
    found = kept(made, "read_token", Message("assistant", "It calls skip_space."))
    assert found.unseen == Share(1, 1)
    assert found.next_identifiers == Share(2, 2)
    assert kept(made, "nothing").unseen == Share(0, 2)


def test_planted_facts_count_before_the_cut() -> None:
    """As whole words, but where a script has no spaces."""
    made = Session().says("Order 4711, 周五交付").is_cut().replies("Number 17.")
    facts = (Fact(0, "4711"), Fact(0, "周五"), Fact(1, "17"))
    found = kept(made, "Order 4711 在周五交付。", facts=facts)
    assert (found.facts_of_users, found.facts_of_replies) == (Share(2, 2), Share())
    assert kept(made, "Order 47110.", facts=facts).facts_of_users == Share(0, 2)


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
    small = await score("ledger", made=made, course=Course(window=8_000))
    assert small.scores["ledger"].tokens < large.scores["ledger"].tokens


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
