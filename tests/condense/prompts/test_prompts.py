"""The texts that go to a model are pinned by snapshots, which one line writes anew.

SNAPSHOTS=write .venv/bin/python -m pytest tests/condense/prompts/test_prompts.py
"""

import os
from pathlib import Path

import pytest

import condense
from condense.prompts import framed
from condense.summaries.summarizer import ParsedSummary, parse_summary

SNAPSHOTS = Path(__file__).parent / "snapshots"
PROMPTS = {
    "summary_system": condense.load_prompt("summary_system"),
    "contradictions": condense.load_prompt("contradictions"),
    "summary_preface": condense.load_prompt("summary_preface"),
    "condense": condense.condense_instruction(),
    "condense_with_focus": condense.condense_instruction(focus="the database schema"),
    "beside_ledger": condense.condense_instruction(key=condense.BESIDE_LEDGER, words=1_200),
    "update": framed("update", "My own words."),
    "own_prompt_with_focus": condense.condense_instruction("My own words.", "the database schema"),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_what_its_snapshot_says(name: str) -> None:
    """A changed word is a deliberate change."""
    file = SNAPSHOTS / f"{name}.md"
    if os.environ.get("SNAPSHOTS") == "write":
        file.write_text(f"{PROMPTS[name]}\n", "utf-8")
    assert file.read_text("utf-8") == f"{PROMPTS[name]}\n"


@pytest.mark.parametrize(
    "key",
    [condense.CONDENSE, condense.BESIDE_LEDGER, "summary_system", "aligned", "contradictions"],
)
def test_no_text_has_the_model_follow_what_it_reads(key: str) -> None:
    """A page that an agent fetched could ask for anything."""
    text = " ".join(condense.load_prompt(key).split()).lower()
    assert "further instructions" not in text
    assert "instruction" in text


def test_a_prompt_is_found_by_its_key_and_may_be_replaced() -> None:
    """Braces mean nothing; the engine's own comes back, and only that is told how long to be."""
    condense.register_prompt("support", " Note the booking number {number}. ")
    condense.register_prompt("focus", "Above all {this}: {focus}")
    try:
        said = condense.condense_instruction(key="support", focus="dates", words=200)
        assert said.startswith("Note the booking number {number}.\n\nLength: about 200")
        assert said.endswith("Above all {this}: dates")
    finally:
        condense.unregister_prompt("support")
        condense.unregister_prompt("focus")
    assert "<focus>" in condense.condense_instruction(focus="dates")
    with pytest.raises(LookupError, match=r"No prompt 'support'; there are aligned, beside_ledger"):
        condense.load_prompt("support")
    assert "about 1,200 words" in condense.condense_instruction(words=1_200)
    assert "words for the summary" not in condense.condense_instruction()
    assert condense.condense_instruction("Mine.", words=1_200) == "Mine."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Just text", ParsedSummary("Just text")),
        ("S</summary>", ParsedSummary("S")),
        ("<analysis>A</analysis>\n\n<summary>S</summary>", ParsedSummary("S", "A")),
        ("<analysis>A<summary>S</summary>", ParsedSummary("S", "A")),
        ("Sure: <analysis>A</analysis><summary>S</summary>", ParsedSummary("Sure:\n\nS", "A")),
        ("<summary>S</summary>\nPS: done", ParsedSummary("S\n\nPS: done")),
        ("<ANALYSIS>A</ANALYSIS><Summary>S</Summary>", ParsedSummary("S", "A")),
        ("<analysis kind='x'>A</analysis ><summary>S</summary>", ParsedSummary("S", "A")),
        (
            "<analysis>A</analysis><analysis>B</analysis><summary>S</summary>",
            ParsedSummary("S", "A\n\nB"),
        ),
        ("<summary>S</summary><analysis>A", ParsedSummary("S", "A")),
        ("<analysis></analysis><summary> </summary>", ParsedSummary("")),
        *[
            (f"<analysis>A {quoted} C</analysis><summary>S</summary>",
             ParsedSummary("S", f"A {quoted} C"))
            for quoted in ("<analysis>B</analysis>", "a <summary> comes", "</summary>")
        ],
        ("Close it with </summary> and go on.",
         ParsedSummary("Close it with </summary> and go on.")),
        ("<summary>Use <analysis>x</analysis> and <summary>y</summary> tags.</summary>",
         ParsedSummary("Use <analysis>x</analysis> and <summary>y</summary> tags.")),
    ],
)  # fmt: skip
def test_an_answer_is_read_with_and_without_its_tags(text: str, expected: ParsedSummary) -> None:
    """A model forgets the closing tags where it runs out of tokens, or quotes them."""
    assert parse_summary(text) == expected
