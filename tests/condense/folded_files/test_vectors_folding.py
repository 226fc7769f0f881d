"""Recorded foldings: what is found, how it is shown, what fits, and which files were read."""

import re
from typing import Any

from condense.errors import Unfoldable
from condense.folded_files.files_read import files_read
from condense.folded_files.results import units
from condense.folded_files.sections import LIMIT, Sections
from condense.folded_files.signatures import MARKDOWN, RowSpan, language_of, render
from condense.messages import Message, ToolUseBlock
from tests.condense.folded_files.definitions import definitions
from tests.condense.roo import Case, each

LINE = re.compile(r"\d+--\d+ \| .*", re.DOTALL)
FAILURES = ("This file does not exist", "Unsupported file type:")


def lines(text: str | None) -> list[str]:
    """Return the lines that show definitions; a file that failed has none."""
    return [line for line in (text or "").split("\n") if LINE.fullmatch(line)]


def rows(text: str | None) -> list[str]:
    """Return the rows of a folded file's lines, in their order."""
    return [line.partition(" | ")[0] for line in lines(text)]


@each("codeDefinitions")
def test_definitions_fold_to_the_rows_that_roo_shows(case: Case) -> None:
    """But for what says nothing; Markdown exactly."""
    path, content = case["input"]["path"], case["input"]["content"]
    ours, roos = definitions(path, content), case["output"].get("definitions")
    in_order = sorted({*rows(roos)}, key=lambda row: int(row.split("--")[0]))
    assert rows(ours) == case["output"].get("rows", in_order)
    if language_of(path) == MARKDOWN and "\r" not in content:
        assert ours == roos


def spans(captures: list[dict[str, Any]]) -> list[RowSpan]:
    """Return the rows that recorded captures stand for: a name's are those of its parent."""
    found = [(one["parent"] if "name" in one["name"] else one, one["name"]) for one in captures]
    kept = [node for node, name in found if node and ("name" in name or "definition" in name)]
    return [RowSpan(node["start"], node["end"]) for node in kept]


@each("processCaptures")
def test_captures_are_shown_in_roos_format(case: Case) -> None:
    """The same rows and source lines, of what spans four rows or more."""
    given = case["input"]
    ours = lines(render(spans(given["captures"]), given["lines"]))
    roos = lines(case["output"]["definitionsWithoutHeader"])
    assert ours == case["output"].get("lines", roos)


def fold(given: dict[str, Any]) -> dict[str, Any]:
    """Put recorded definitions under a limit."""
    budget = Sections(given.get("maxCharacters", LIMIT))
    skipped = 0
    for path in given["filePaths"]:
        try:
            if not (found := readable(given["definitions"].get(path))):
                raise ValueError(path)
            budget.add(path, found)
        except (ValueError, Unfoldable):
            skipped += 1
    return {
        "sections": budget.sections,
        "filesProcessed": len(budget.sections),
        "filesSkipped": skipped,
        "characterCount": budget.characters,
    }


def readable(found: Any) -> str:
    """Return a file's definitions, nothing where Roo's parser reported a failure in them."""
    text = found if isinstance(found, str) else ""
    failed = any(line.startswith(FAILURES) for line in text.split("\n"))
    return "" if failed else text


@each("generateFoldedFileContext")
def test_sections_fit_the_limit_as_in_roo(case: Case) -> None:
    """Which is never exceeded."""
    ours, limit = fold(case["input"]), case["input"].get("maxCharacters", LIMIT)
    assert ours == case["output"]
    assert units("\n".join(ours["sections"])) == ours["characterCount"]
    assert ours["characterCount"] <= max(limit, 0)


CALLS = {"read_tool": "read_file", "roo_edited": "write_to_file", "user_edited": "note"}


def conversation(entries: list[dict[str, Any]]) -> list[Message]:
    """Return messages in which files are read, mentioned and edited in the recorded order."""
    newest_first = sorted(entries, key=lambda entry: -(entry["roo_read_date"] or 0))
    return [step(index, entry) for index, entry in enumerate(newest_first)][::-1]


def step(index: int, entry: dict[str, Any]) -> Message:
    """Return what the user mentions or the agent does."""
    if entry["record_source"] == "file_mentioned":
        return Message("user", f"See @/{entry['path']} please")
    call = ToolUseBlock(str(index), CALLS[entry["record_source"]], {"path": entry["path"]})
    return Message("assistant", (call,))


@each("getFilesReadByRoo")
def test_the_files_read_are_those_roo_counts(case: Case) -> None:
    """Newest first, each once, edits excluded; whoever wants the later ones passes those."""
    since = case["input"].get("sinceTimestamp", 0)
    entries = [one for one in case["input"]["entries"] if (one["roo_read_date"] or since) >= since]
    assert list(files_read(conversation(entries))) == case["output"]
