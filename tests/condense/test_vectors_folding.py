"""Recorded foldings: what is found, how it is shown, what fits, and which files were read."""

import json
import re
from typing import Any

from condense.errors import Unfoldable
from condense.folded_files.files_read import files_read
from condense.folded_files.results import units
from condense.folded_files.sections import LIMIT, Sections
from condense.folded_files.signatures import MARKDOWN, Span, language_of, render
from condense.messages import Message, ToolUseBlock
from tests.condense.folded_files.definitions import definitions
from tests.condense.roo import Case, each

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


# Where the engine shows other rows than Roo: those it leaves out, and those it shows beside Roo's.
# It leaves out what stands around a definition, above it or at its end (a package line, a
# decorator, a bracket, blank lines) and a function without a name; it adds short signatures, and
# definitions that Roo's queries miss.
OTHER_ROWS = {
    "short.py": ("", "1--2"),
    "emoji.py": ("1--9", ""),
    "broken.py": ("1--9", ""),
    "util.ts": ("25--28", "9--9 44--46 48--48 58--62 59--61"),
    "server.go": ("1--38", "5--8 6--6 7--7 10--13 15--19 21--23 25--31 33--37"),
    "Main.java": ("1--29 13--18", "14--18 21--21 22--22"),
    "App.cs": ("1--27 1--28 4--27 12--26", "7--7 15--19"),
    "page.php": ("1--29 1--30", "5--5 6--6 22--22"),
    "conf.toml": ("1--10 1--14 10--14", "10--13"),
    "init.lua": ("1--16", ""),
    "site.css": ("", "1--5 7--12 8--11 14--18"),
    "page.htm": ("", "1--5"),
    "main.zig": ("1--12", ""),
    "core.ml": ("1--15", ""),
}


def rows(text: object) -> list[str]:
    """Return the rows of a folded file's lines, in their order."""
    return [f"{line.first}--{line.last}" for line in lines(text)]


@each("codeDefinitions")
def test_definitions_fold_to_the_rows_that_roo_shows(case: Case) -> None:
    """But for what says nothing; Markdown exactly."""
    ours = rows(definitions(case["input"]["path"], case["input"]["content"]))
    less, more = (names.split() for names in OTHER_ROWS.get(case["name"], ("", "")))
    roos = set(rows(case["output"].get("definitions")))
    assert roos.issuperset(less)
    assert roos.isdisjoint(more)
    assert ours == sorted((roos - {*less}) | {*more}, key=lambda row: int(row.split("--")[0]))
    path, content = case["input"]["path"], case["input"]["content"]
    if language_of(path) == MARKDOWN and "\r" not in content:
        assert definitions(path, content) == case["output"].get("definitions")


def spans(captures: list[dict[str, Any]]) -> list[Span]:
    """Return the rows that recorded captures stand for: a name's are those of its parent."""
    found = [(one["parent"] if "name" in one["name"] else one, one["name"]) for one in captures]
    kept = [node for node, name in found if node and ("name" in name or "definition" in name)]
    return [Span(node["start"], node["end"]) for node in kept]


def shown_here(case: Case) -> list[str]:
    """Return Roo's lines without the ranges around definitions, each line of source once.

    Of several ranges that begin there, that is the longest.
    """
    own = {(span.first + 1, span.last + 1) for span in spans(case["input"]["captures"])}
    longest: dict[int, Line] = {}
    for line in lines(case["output"]["definitionsWithoutHeader"]):
        known = longest.get(line.first, line)
        if (line.first, line.last) in own and line.last >= known.last:
            longest[line.first] = line
    return [repr(longest[first]) for first in sorted(longest)]


@each("processCaptures")
def test_captures_are_shown_in_roos_format(case: Case) -> None:
    """The same rows and source lines, of what spans four rows or more."""
    given = case["input"]
    ours = lines(render(spans(given["captures"]), given["lines"]))
    assert [*map(repr, ours)] == shown_here(case)


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


HALF = re.compile("[\ud800-\udfff]")
CUT = "\n... (truncated)\n"
# Words of Roo's own errors: it drops a file whose source says them.
ROOS_ERROR = "do not have permission"


def fitted_here(case: Case) -> dict[str, Any]:
    """Return what Roo adds, but within the limit and without half a character at the cut.

    Roo counts neither the joining newlines nor all that a cut file's section adds, and may cut
    between the two halves of a surrogate pair.
    """
    roos, limit = case["output"], case["input"].get("maxCharacters", LIMIT)
    whole = [HALF.sub("", text) for text in roos["sections"]]
    count = roos["characterCount"] - sum(map(len, roos["sections"])) + sum(map(len, whole))
    if count > limit:
        begun, _, end = whole[-1].rpartition(CUT)
        whole[-1] = begun[: limit - count] + CUT + end
    return {**roos, "sections": whole, "characterCount": min(count, limit)}


@each("generateFoldedFileContext")
def test_sections_fit_the_limit_as_in_roo(case: Case) -> None:
    """Which is never exceeded."""
    given = case["input"]
    if any(ROOS_ERROR in readable(text) for text in given["definitions"].values()):
        # What a file says is no error: the file counts like one that says something else.
        said = json.dumps(given).replace(ROOS_ERROR, "!" * len(ROOS_ERROR))
        other = json.dumps(fold(json.loads(said))).replace("!" * len(ROOS_ERROR), ROOS_ERROR)
        assert fold(given) == json.loads(other)
        assert fold(given)["filesProcessed"] == case["output"]["filesProcessed"] + 1
    else:
        assert fold(given) == fitted_here(case)
    ours, limit = fold(case["input"]), case["input"].get("maxCharacters", LIMIT)
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
