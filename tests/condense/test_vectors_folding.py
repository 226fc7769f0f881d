"""Recorded foldings: what is found, how it is shown, what fits, and which files were read."""

import re
from typing import Any

import pytest

from condense.folding import definitions, files_read
from condense.folding.captures import Span, render
from condense.folding.errors import Unfoldable
from condense.folding.languages import MARKDOWN, language_of
from condense.folding.sections import LIMIT, Sections, units
from condense.messages import Message, ToolUseBlock
from tests.condense.roo import Case, Deviation, assert_same, cases, each

LINE = re.compile(r"(\d+)--(\d+) \| (.*)", re.DOTALL)
FAILURES = ("This file does not exist", "Unsupported file type:")


class Line:
    """One line of a folded file."""

    def __init__(self, text: str) -> None:
        first, last, self.source = LINE.fullmatch(text).groups()  # type: ignore[union-attr]
        self.first, self.last = int(first), int(last)

    def __repr__(self) -> str:
        return f"{self.first}--{self.last} | {self.source}"


def lines(text: object) -> list[Line]:
    """Return the lines that show definitions; a file that failed has none."""
    found = str(text).split("\n") if text else []
    return [Line(line) for line in found if LINE.fullmatch(line)]


def named(*words: str) -> re.Pattern[str]:
    """Match a line that begins with one of some words."""
    return re.compile(rf"\s*(?:{'|'.join(words)})\b")


def stands_around_a_definition(case: Case) -> bool:
    """A package line, decorator or bracket, shown because it begins what holds a definition."""
    line: Line = case["line"]
    return any(line.first < ours.first <= line.last for ours in case["ours"])


LEFT_OUT = [
    Deviation("What stands above or around a definition says nothing.", stands_around_a_definition),
    Deviation(
        "Statements define nothing.",
        lambda case: bool(named("with", "try", "if", "for", "while").match(case["line"].source)),
    ),
    Deviation(
        "A function without a name is part of a body.",
        lambda case: bool(re.match(r"\s*return \(.*=>", case["line"].source)),
    ),
    Deviation(
        "Markup inside a function is part of its body.",
        lambda case: bool(re.match(r"\s*<", case["line"].source)) and "sx" in case["path"][-3:],
    ),
    Deviation("There is no grammar.", lambda case: language_of(case["path"]) is None),
]


@each("codeDefinitions")
def test_every_definition_is_found_that_roo_finds(case: Case) -> None:
    """Each at the line where Roo shows it; more may be found."""
    path = case["input"]["path"]
    ours = lines(definitions(path, case["input"]["content"]))
    for line in lines(case["output"].get("definitions")):
        known = {"name": case["name"], "path": path, "line": line, "ours": ours}
        assert_same(known, line.first in {one.first for one in ours}, True, LEFT_OUT)


@each("codeDefinitions")
def test_a_markdown_file_folds_exactly_as_in_roo(case: Case) -> None:
    """No grammar is involved, so nothing can differ but line ends."""
    path, content = case["input"]["path"], case["input"]["content"]
    if language_of(path) == MARKDOWN and "\r" not in content:
        assert definitions(path, content) == case["output"].get("definitions")


def spans(captures: list[dict[str, Any]]) -> list[Span]:
    """Return the rows that recorded captures stand for: a name's are those of its parent."""
    found = [(one["parent"] if "name" in one["name"] else one, one["name"]) for one in captures]
    kept = [node for node, name in found if node and ("name" in name or "definition" in name)]
    return [Span(node["start"], node["end"]) for node in kept]


def is_a_parent(case: Case) -> bool:
    """Roo shows the range around each definition too, often the whole file."""
    parents = [one["parent"] for one in case["captures"] if one["parent"]]
    ranges = {(parent["start"] + 1, parent["lastChildEnd"] + 1) for parent in parents}
    return (case["line"].first, case["line"].last) in ranges


def is_shown_already(case: Case) -> bool:
    """Roo shows a line of source once for every range that begins there."""
    return any(one.first == case["line"].first for one in case["ours"])


def is_markup(case: Case) -> bool:
    """Roo's captures name elements, and its formatting step filters some of them again."""
    return case["language"] in {"jsx", "tsx"} and case["line"].source.lstrip().startswith("<")


FORMATTED = [
    Deviation("The range around a definition is noise.", is_a_parent),
    Deviation("A line of source is shown once.", is_shown_already),
    Deviation("Elements are filtered by the query, not by their text.", is_markup),
]


@each("processCaptures")
def test_captures_are_shown_in_roos_format(case: Case) -> None:
    """The same rows and source lines, of what spans four rows or more."""
    given = case["input"]
    ours = lines(render(spans(given["captures"]), given["lines"]))
    roos = lines(case["output"]["definitionsWithoutHeader"])
    for line in (*ours, *roos):
        known = {**given, "name": case["name"], "line": line, "ours": ours}
        both = {repr(one) for one in ours} & {repr(one) for one in roos}
        assert_same(known, repr(line) in both, True, FORMATTED)


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


def exceeds_the_limit(case: Case) -> bool:
    """Roo counts neither the joining newlines nor all that a truncated file's section adds."""
    return bool(case["output"]["characterCount"] > case["input"].get("maxCharacters", LIMIT))


def splits_a_character(case: Case) -> bool:
    """Roo may cut between the two halves of a surrogate pair."""
    return any(re.search("[\ud800-\udfff]", text) for text in case["output"]["sections"])


def looks_like_a_failure(case: Case) -> bool:
    """Roo drops a file whose source contains the words of one of its errors."""
    words = ("This file does not exist", "do not have permission", "Unsupported file type:")
    found = [readable(text) for text in case["input"]["definitions"].values()]
    return any(word in text for text in found for word in words)


FITTED = [
    Deviation("The limit holds for all that is added.", exceeds_the_limit),
    Deviation("A character is never cut in two.", splits_a_character),
    Deviation("What a file says is no error.", looks_like_a_failure),
]


@each("generateFoldedFileContext")
def test_sections_fit_the_limit_as_in_roo(case: Case) -> None:
    """The same sections, the last one cut at the same place, the same count."""
    assert_same(case, fold(case["input"]), case["output"], FITTED)


@each("generateFoldedFileContext")
def test_the_limit_is_never_exceeded(case: Case) -> None:
    """Not by joining newlines, and not by a long path."""
    ours, limit = fold(case["input"]), case["input"].get("maxCharacters", LIMIT)
    assert units("\n".join(ours["sections"])) == ours["characterCount"]
    assert ours["characterCount"] <= max(limit, 0)


def test_most_recorded_limits_agree_exactly() -> None:
    """Deviations are the exception."""
    found = cases("generateFoldedFileContext")
    agreeing = sum(fold(case["input"]) == case["output"] for case in found)
    assert agreeing >= 0.8 * len(found)


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


SINCE = Deviation(
    "Messages say when a file was read; who wants the later ones passes those.",
    lambda case: "sinceTimestamp" in case["input"],
)


@each("getFilesReadByRoo")
def test_the_files_read_are_those_roo_counts(case: Case) -> None:
    """Newest first, each once, edits excluded."""
    ours = files_read(conversation(case["input"]["entries"]))
    assert_same(case, list(ours), case["output"], [SINCE])


@pytest.mark.parametrize("name", ["codeDefinitions", "processCaptures", "getFilesReadByRoo"])
def test_there_are_recorded_cases(name: str) -> None:
    """A missing file would pass every test above."""
    assert cases(name)
