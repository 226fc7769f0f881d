"""The texts that go to a model are pinned by snapshots, which one line writes anew.

SNAPSHOTS=write .venv/bin/python -m pytest tests/condense/prompts/test_prompts.py
"""

import os
from pathlib import Path

import pytest

from condense import condense_instruction, summary_preface, summary_system
from condense.prompts import load_prompt
from condense.prompts.parsed import ParsedSummary, parse_summary
from condense.testing import WordCounter

SNAPSHOTS = Path(__file__).parent / "snapshots"
SECTIONS = [
    "Primary Request and Intent",
    "Key Technical Concepts",
    "Files and Code Sections",
    "Errors and Fixes",
    "Problem Solving",
    "All User Messages",
    "Pending Tasks",
    "Current Work",
    "Optional Next Step",
]
PROMPTS = {
    "summary_system": summary_system(),
    "summary_preface": summary_preface(),
    "condense": condense_instruction(),
    "condense_with_focus": condense_instruction(focus="the database schema"),
    "own_prompt_with_focus": condense_instruction("My own words.", "the database schema"),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_what_its_snapshot_says(name: str) -> None:
    """A changed word is a deliberate change."""
    file = SNAPSHOTS / f"{name}.md"
    if os.environ.get("SNAPSHOTS") == "write":
        file.write_text(f"{PROMPTS[name]}\n", "utf-8")
    assert file.read_text("utf-8") == f"{PROMPTS[name]}\n"


def test_the_instruction_asks_for_nine_sections_in_order() -> None:
    """In the list, and again in the form to fill in."""
    lines = condense_instruction().splitlines()
    for number, section in enumerate(SECTIONS, start=1):
        assert sum(line.startswith(f"{number}. {section}:") for line in lines) == 2


@pytest.mark.parametrize("words", ["<analysis>", "<summary>", "<command>", "again automatically"])
def test_the_instruction_names_what_the_engine_relies_on(words: str) -> None:
    """The tags it reads and the directives it attaches."""
    assert words in condense_instruction()


@pytest.mark.parametrize("words", ["Call no tools", "plain text only", "not from the user"])
def test_the_system_prompt_guards_the_call(words: str) -> None:
    """It summarises, in text, and is no request of the user."""
    assert words in " ".join(summary_system().split())


@pytest.mark.parametrize("blank", ["", "  \n\t "])
def test_a_blank_own_prompt_is_none(blank: str) -> None:
    """Clearing the field in the settings brings the default back."""
    assert condense_instruction(blank) == load_prompt("condense")


def test_an_own_prompt_is_trimmed_and_replaces_the_nine_sections() -> None:
    """Nothing of the default remains."""
    assert condense_instruction("  My own words.\n") == "My own words."


def test_a_focus_follows_the_instruction() -> None:
    """It may contain braces, which mean nothing."""
    text = condense_instruction(focus=" keep {this} ")
    assert text.startswith(load_prompt("condense"))
    assert "<focus>\nkeep {this}\n</focus>" in text


def test_the_preface_is_short() -> None:
    """It is sent with every request from then on."""
    assert WordCounter().count(summary_preface()) < 60


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Just text", ParsedSummary("Just text")),
        ("<summary>\nS\n</summary>", ParsedSummary("S")),
        ("<summary>S", ParsedSummary("S")),
        ("S</summary>", ParsedSummary("S")),
        ("<analysis>A</analysis>\n\n<summary>S</summary>", ParsedSummary("S", "A")),
        ("<analysis>A<summary>S</summary>", ParsedSummary("S", "A")),
        ("<analysis>A</analysis> S", ParsedSummary("S", "A")),
        ("A</analysis><summary>S</summary>", ParsedSummary("S", "A")),
        ("Sure: <analysis>A</analysis><summary>S</summary>", ParsedSummary("Sure:\n\nS", "A")),
        ("<summary>S</summary>\nPS: done", ParsedSummary("S\n\nPS: done")),
        ("<ANALYSIS>A</ANALYSIS><Summary>S</Summary>", ParsedSummary("S", "A")),
        ("<analysis kind='x'>A</analysis ><summary>S</summary>", ParsedSummary("S", "A")),
        (
            "<analysis>A</analysis><analysis>B</analysis><summary>S</summary>",
            ParsedSummary("S", "A\n\nB"),
        ),
        ("<summary>S</summary><analysis>A</analysis>", ParsedSummary("S", "A")),
        ("<summary>S</summary><analysis>A", ParsedSummary("S", "A")),
        ("<analysis>A</analysis>", ParsedSummary("", "A")),
        ("<analysis>A", ParsedSummary("", "A")),
        ("<analysis></analysis><summary> </summary>", ParsedSummary("")),
        ("", ParsedSummary("")),
    ],
)
def test_an_answer_is_read_with_and_without_its_tags(text: str, expected: ParsedSummary) -> None:
    """A model that runs out of tokens forgets the closing tags."""
    assert parse_summary(text) == expected


@pytest.mark.parametrize(
    "scratch",
    ["<analysis>B</analysis>", "a <summary> comes", "`<summary>…</summary>`", "</summary>"],
)
def test_analysis_may_quote_the_tags(scratch: str) -> None:
    """None of it reaches the summary."""
    text = f"<analysis>A {scratch} C</analysis><summary>S</summary>"
    assert parse_summary(text) == ParsedSummary("S", f"A {scratch} C")


def test_a_text_without_tags_of_its_own_may_quote_the_closing_one() -> None:
    """It is kept as it was written."""
    assert parse_summary("Close it with </summary> and go on.").summary.count("</summary>") == 1


def test_a_summary_may_quote_the_tags() -> None:
    """A conversation about prompts loses nothing."""
    text = "<summary>Use <analysis>x</analysis> and <summary>y</summary> tags.</summary>"
    assert (
        parse_summary(text).summary == "Use <analysis>x</analysis> and <summary>y</summary> tags."
    )
