"""``python -m condense``: the comparison as text and JSON, and a look into one session."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from condense.__main__ import main
from condense.evaluation.table import ROWS
from tests.condense.sessions import Session

ROOT = Path(__file__).parents[2]
COUNTS = ["needed_files", "needed_commands", "user_messages", "edited_files"]
MORE = ["user_characters", "result_words", "next_paths", "next_commands", "next_identifiers",
        "next_items", "actions", "unseen", "facts_of_users", "facts_of_replies"]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two transcripts, one of them packed."""
    session = Session().says("Fix the parser.").reads("/app/a.py", "x" * 4_000)
    session.edits("/app/parser.py").runs("make test").is_cut("Worked on parser.py.")
    session.replies("Going on.").edits("/app/parser.py").runs("make test").replies()
    session.write(tmp_path / "one.json")
    packed = gzip.compress(json.dumps(session.to_json()).encode())
    (tmp_path / "two.json.gz").write_bytes(packed)
    (tmp_path / "notes.txt").write_text("no transcript")
    return tmp_path


def test_the_comparison_is_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A column for each strategy and the default, a line for each figure, and a bar beside it."""
    assert main(["eval", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("as recorded: 2 compactions\n")
    names = ["default", "fresh_start", "keep_recent", "ledger", "sliding_window"]
    assert any(set(names) <= set(line.split()) for line in out.splitlines())
    assert "\nneeded files " in out
    assert "2/2 100.0%" in out
    assert "2/2 sessions" in err


def test_the_comparison_as_json_has_every_number(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing else on standard output."""
    assert main(["eval", str(folder), "--json", "--strategy", "ledger"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["compactions"] == 2
    assert list(result["strategies"]) == ["ledger"]
    found = result["strategies"]["ledger"]
    assert set(found) == {*COUNTS, *MORE, "size_share", "size_in_all", "tokens", "cost_usd"}
    assert all(found[name] == [2, 2] for name in COUNTS)
    assert 0 < found["size_share"] < 0.2
    assert found["tokens"] > 0
    assert set(found["cost_usd"]) == {"aligned", "flattened"}


def test_without_a_folder_the_chats_that_come_along_are_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So anybody can run it."""
    assert main(["eval", "--strategy", "ledger"]) == 0
    out = capsys.readouterr().out
    assert "\nfacts that users gave " in out
    assert "\nfacts that replies gave " in out


def test_facts_of_a_transcript_are_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are in a message."""
    session = Session().says("Code 77. " * 99).replies("Booked as B-1. " * 99).says("Thanks.")
    made = session.is_cut("It is 77.").replies().to_json()
    facts = [{"at": 0, "text": "77"}, {"at": 1, "text": "B-1"}, {"at": 99, "text": "x"}, {}]
    (tmp_path / "a.json").write_text(json.dumps({**made, "facts": facts}))
    assert main(["eval", str(tmp_path), "--json", "--strategy", "fresh_start"]) == 0
    found = json.loads(capsys.readouterr().out)["strategies"]["fresh_start"]
    assert (found["facts_of_users"], found["facts_of_replies"]) == ([1, 1], [0, 1])


def test_cuts_may_be_tried_at_any_size(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And priced otherwise."""
    arguments = ["--at", "500", "--json", "--price-cache-write", "0", "--strategy", "ledger"]
    assert main(["eval", str(folder), *arguments]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["compactions"] >= 2
    assert result["strategies"]["ledger"]["cost_usd"]["aligned"] == 0


def test_the_page_on_the_comparison_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    """And every figure of the table."""
    page = (ROOT / "docs/evaluation.md").read_text("utf-8")
    with pytest.raises(SystemExit):
        main(["eval", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    assert all(name in page for name in options if not name.startswith("--price-"))
    assert "--price-input" in page
    assert all(label in page for label in ROWS.values())


def test_windows_and_rounds_may_be_compared_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cut wherever a window is full, and condensed once or twice up to the same place."""
    arguments = ["--window", "1000", "--rounds", "2", "--strategy", "ledger"]
    assert main(["eval", str(folder), "--json", *arguments]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["windows"]["1000"]["compactions"] == 2
    assert [result["rounds"][name]["compactions"] for name in ("1", "2")] == [2, 2]
    assert main(["eval", str(folder), *arguments]) == 0
    assert "\nround 2: 2 compactions\n" in capsys.readouterr().out


def test_a_file_that_is_no_transcript_is_named_and_skipped(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others count."""
    (folder / "broken.json").write_text("{")
    (folder / "odd.json").write_text('{"messages": [{"role": "robot"}]}')
    (folder / "strings.json").write_text('["x"]')
    assert main(["eval", str(folder), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["compactions"] == 2
    assert "broken.json" in err
    assert err.count("skipped") == 3


@pytest.mark.parametrize("arguments", [["eval", "/nowhere"], ["show", "/nowhere"]])
def test_a_path_that_is_not_there_is_an_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Said in one line."""
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("condense: ")


def test_an_unknown_strategy_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That names those there are."""
    assert main(["eval", str(folder), "--strategy", "magic"]) == 2
    assert "fresh_start" in capsys.readouterr().err


def test_a_session_is_shown_as_a_model_sees_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The recorded summary, what followed, and what it hides."""
    assert main(["show", str(folder / "one.json")]) == 0
    out = capsys.readouterr().out
    seen, hidden = out.split("\nHidden: ")
    assert "before message 8 (auto)" in seen
    assert "S1  user       Worked on parser.py." in seen
    assert "Going on." in seen
    assert "Fix the parser." not in seen
    assert hidden.startswith("7 messages\n")
    assert hidden.rstrip().endswith("behind S1")


@pytest.mark.parametrize(("strategy", "label"), [("ledger", "S1"), ("sliding_window", "T1")])
def test_a_session_is_shown_under_another_strategy(
    folder: Path, capsys: pytest.CaptureFixture[str], strategy: str, label: str
) -> None:
    """What it puts in place of what it hides."""
    assert main(["show", str(folder / "two.json.gz"), "--strategy", strategy, "--full"]) == 0
    out = capsys.readouterr().out
    assert f"behind {label}" in out
    assert "Fix the parser." in out


def test_a_session_is_shown_with_lines_for_what_was_cleared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the older of two reads stood."""
    session = Session().says("Compare.").reads("/app/a.py", "x" * 999).reads("/app/a.py", "y" * 999)
    path = session.replies().is_cut().says("Go on.").write(tmp_path / "a.json")
    assert main(["show", str(path), "--strategy", "clear"]) == 0
    out = capsys.readouterr().out
    assert "[Output of Read cleared, 999 characters: the same was read again later]" in out
    assert "C1  user       [Tool output cleared: 1 results hidden" in out


def test_a_session_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape sequences are shown as what they are."""
    path = Session().says("red \x1b[31m alert \x9b").write(tmp_path / "a.json")
    assert main(["show", str(path), "--full"]) == 0
    assert "red \ufffd[31m alert \ufffd" in capsys.readouterr().out


def test_it_runs_as_a_module(folder: Path) -> None:
    """As people call it."""
    command = [sys.executable, "-m", "condense", "eval", str(folder), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["compactions"] == 2
