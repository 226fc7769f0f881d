"""Strategies compared on sessions: where they are cut, what is left, and what it costs."""

import asyncio
import gzip
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from condense import CharacterCounter
from tests.condense.sessions import Session
from tests.evaluation.__main__ import main
from tests.evaluation.chats import CHATS, read_chat, splice_chat
from tests.evaluation.questions import ask, format_answers
from tests.evaluation.recalled import recall_for_agents
from tests.evaluation.recordings import Cut, Question, cuts_at, even_cuts
from tests.evaluation.replay import Replay, Step, contenders
from tests.evaluation.samples import recording, session
from tests.evaluation.scores import Course, Score, evaluate

ROOT = Path(__file__).parents[2]


async def score(*names: str, made: Session | None = None, **course: int) -> dict[str, Score]:
    """Return the scores of some strategies on a session."""
    return await evaluate([recording(made or session())], names, Course(**course))  # type: ignore[arg-type]


async def steps(name: str, made: Session) -> list[Step]:
    """Return what becomes of a session at each of its cuts."""
    one = recording(made)
    return [step async for step in Replay(name, CharacterCounter()).run(one, one.cuts)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two transcripts, one of them packed, and files that are none."""
    session().write(tmp_path / "one.json")
    packed = gzip.compress(json.dumps(session().to_json()).encode())
    (tmp_path / "two.json.gz").write_bytes(packed)
    (tmp_path / "notes.txt").write_text("no transcript")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "odd.json").write_text('{"messages": [{"role": "robot"}]}')
    (tmp_path / "strings.json").write_text('["x"]')
    return tmp_path


def test_cuts_part_a_session_into_like_stretches_or_at_a_threshold() -> None:
    """Before replies, as many as there are places for; a threshold counts anew."""
    made = Session()
    for number in range(12):
        made.reads(f"/{number:02}", "x" * 400)
    cuts = even_cuts(recording(made).messages, 3)
    assert [cut.at for cut in cuts] == [6, 12, 18]
    assert even_cuts(recording(Session().says("Hi.").replies()).messages, 3) == (Cut(1),)
    one = recording(Session().reads("/a", "x" * 400).reads("/b", "x" * 400).reads("/c", "x" * 400))
    assert [cut.at for cut in cuts_at(one.messages, 100)] == [2, 4]
    assert cuts_at(one.messages, 100_000) == ()


@pytest.mark.parametrize("path", CHATS, ids=lambda path: path.stem)
def test_every_chat_that_comes_along_has_facts_of_both_sides_before_its_cut(path: Path) -> None:
    """In its messages, without the marks; most of the text is about something else."""
    one = read_chat(path, CharacterCounter())
    (cut,) = one.cuts
    assert all(fact.text in one.messages[fact.at].text for fact in one.facts)
    assert all(fact.at < cut.at for fact in one.facts)
    assert {one.messages[fact.at].role for fact in one.facts} == {"user", "assistant"}
    assert not any("[[" in message.text for message in one.messages)


@pytest.mark.parametrize(
    "path", [path for path in CHATS if "\nSLOTS\n" in path.read_text("utf-8")], ids=lambda p: p.stem
)
def test_a_spliced_chat_says_each_answer_once_among_other_talk(path: Path) -> None:
    """At any size; it is the same each time, and people and agent take turns."""
    one = splice_chat(path, CharacterCounter(), 20_000)
    assert one == splice_chat(path, CharacterCounter(), 20_000)
    assert sum(message.tokens or 0 for message in one.messages) in range(19_000, 21_000)
    assert {message.role for message in one.messages[::2]} == {"user"}
    assert not re.search(r"\{\w*#*\}|\[\[", "".join(message.text for message in one.messages))
    (cut,) = one.cuts
    assert len(one.questions) >= 15
    for question in one.questions:
        says = [
            at for at, m in enumerate(one.messages) if any(a in m.text for a in question.answers)
        ]
        assert says == [question.at]
        assert question.at < cut.at


async def test_a_question_is_looked_up_in_what_is_hidden() -> None:
    """And its answer in what the model sees then; what the search can't find is missing."""
    one = read_chat(next(path for path in CHATS if path.stem == "booking.en"), CharacterCounter())
    questions = [one.questions[7], Question(0, "Which colour has the zebra?", ("striped",))]
    asked = await ask(replace(one, questions=tuple(questions)))
    assert (asked["questions"], asked["answer first"], asked["answer in the request"]) == (2, 1, 1)
    nothing = await ask(one, lambda _hidden: lambda _words, _limit: ())
    assert nothing["answer in an excerpt"] == nothing["tokens"] == 0
    assert nothing["answer in the request"] == nothing["answer in the ledger"] > 0
    assert "50.0%" in format_answers({"booking.en": asked})


async def test_only_the_cuts_of_a_course_count() -> None:
    """The earlier ones are made all the same; in a small window a ledger is smaller."""
    made = session().is_cut("Second.").replies().runs("make test")
    found = await score("ledger", made=made, counts_from=1)
    assert len(found["ledger"].sizes) == 1
    made = Session().reads("/a", "x" * 20_000)
    made.says("Do this: " + "very long words " * 500).is_cut().replies()
    large = await score("ledger", made=made)
    small = await score("ledger", made=made, window=4_000)
    assert small["ledger"].tokens < large["ledger"].tokens


async def test_the_default_has_the_files_that_the_recording_shows() -> None:
    """As signatures, beside its summary; a file that leads out of its folder is left out."""
    made = Session().says("Fix it. " * 900)
    made.reads("/app/a.py", "     1\u2192def read_token(text):\n     2\u2192    return text[0]")
    made.calls("Write", file_path="/app/b.py", content="class Parser:\n    def parse(self): ...")
    made.reads("/app/b.py").reads("/../c.py", "     1\u2192def lost(): ...")
    (step,) = await steps("default", made.is_cut("A summary.").replies())
    assert step.reduction
    assert step.reduction.folded
    assert [one.path for one in step.reduction.folded.files] == ["app/b.py", "app/a.py"]
    assert "def read_token(text)" in step.after[0].text


async def test_the_ledger_keeps_what_is_needed() -> None:
    """A summary that names only the file does not; only who asks a model pays for a call."""
    found = await score("default", "fresh_start", "ledger")
    kept = {name: [one.kept[what] for what in ("needed files", "needed commands", "user messages")]
            for name, one in found.items()}  # fmt: skip
    assert kept == {"default": [1, 1, 1], "fresh_start": [1, 0, 0], "ledger": [1, 1, 1]}
    found = await score("fresh_start", "sliding_window", "ledger")
    written = {name: Decimal("3.75") * one.tokens / 1_000_000 for name, one in found.items()}
    asks = {name for name, one in found.items() if one.usd > written[name]}
    assert asks == {"fresh_start"}


async def test_a_later_cut_goes_on_from_what_the_strategy_left() -> None:
    """The ledger is carried on by its own summary."""
    seen = await steps("ledger", session().is_cut("Second.").replies().runs("make test"))
    assert len(seen) == 2
    assert seen[1].before[0].is_summary
    assert "Fix the parser." in seen[1].after[0].text
    assert len(seen[1].after) == 1


@pytest.mark.parametrize("name", contenders())
async def test_a_strategy_that_can_do_nothing_keeps_all(name: str) -> None:
    """Any of the registry can be compared; where nothing was read, there is nothing to hide."""
    (step,) = await steps(name, Session().says("Hello.").is_cut().replies())
    assert step.reduction or step.after == step.before


def test_every_course_is_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a column for each strategy; a file that is no transcript is named."""
    main([str(folder), "--window", "1000", "--rounds", "2"])
    out, err = capsys.readouterr()
    assert "as recorded: 2 condensations\n" in out
    assert "window 1,000: 2 condensations\n" in out
    assert "round 2: 2 condensations\n" in out
    assert any(set(contenders()) <= set(line.split()) for line in out.splitlines())
    assert err.count("skipped") == 3


def test_cuts_may_be_tried_at_any_size(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Instead of where they are recorded; JSON has every number."""
    main([str(folder), "--at", "500", "--json", "--strategy", "ledger"])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["every 500 tokens"]
    assert found["every 500 tokens"]["ledger"]["user messages"] == [2, 2]


def test_each_half_of_the_files_can_be_read_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What rules are tuned on is not what they are judged by."""
    (folder / "three.json").write_bytes((folder / "one.json").read_bytes())
    sizes = []
    for half in ("tuning", "report"):
        main([str(folder), "--json", "--strategy", "ledger", "--half", half])
        sizes.append(json.loads(capsys.readouterr().out)["as recorded"]["ledger"]["needed files"])
    assert [of for _, of in sizes] == [1, 2]


def test_facts_of_a_transcript_are_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By who said them."""
    made = Session().says("Code 77. " * 99).replies("Booked as B-1. " * 99).says("Thanks.")
    facts = [{"at": 0, "text": "77"}, {"at": 1, "text": "B-1"}]
    session_ = {**made.is_cut("It is 77.").replies().to_json(), "facts": facts}
    (tmp_path / "a.json").write_text(json.dumps(session_))
    main([str(tmp_path / "a.json"), "--json", "--strategy", "fresh_start"])
    found = json.loads(capsys.readouterr().out)["as recorded"]["fresh_start"]
    assert found["facts that users gave"] == [1, 1]
    assert found["facts that replies gave"] == [0, 1]


def test_the_page_on_the_evaluation_names_every_option_and_figure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As the module prints them where people call it, and as the table has them."""
    page = (ROOT / "docs/evaluation.md").read_text("utf-8")
    with pytest.raises(SystemExit):
        main(["--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert options
    assert all(name in page for name in options)
    assert all(figure in page for figure in asyncio.run(score("ledger"))["ledger"].to_json())


async def test_what_an_agent_is_reminded_of_is_compared_with_what_it_needs() -> None:
    """Items that the next calls name; text of a file that was touched since is stale."""
    made = Session().says("Deploy the vault to Lisbon with deployVault.").replies()
    made.reads("/app/vault.py", "The vault in Lisbon is sealVault.").runs("make test").is_cut()
    made.says("How do we deploy the vault to Lisbon?").runs("run deployVault sealVault")
    found = await recall_for_agents([recording(made)], Course())
    names = ("needed", "recalled", "of files", "stale")
    assert [found.counts[name] for name in names] == [2, 2, 2, 0]
    assert "stale 0" in str(found)
