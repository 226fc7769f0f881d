"""Reading a file."""

from pathlib import Path

import pytest

from chatapp.agent.errors import ToolError
from chatapp.tools import read_file
from chatapp.tools.read_file import MAX_READ_CHARS, MAX_READ_LINE, MAX_READ_LINES, Arguments
from chatapp.tools.workspace import Workspace


def run(root: Path, text: str, start: int = 1, end: int | None = None) -> str:
    """Write the text to a file and return what is read of it."""
    (root / "file").write_text(text, encoding="utf-8", newline="")
    return read_file.run(Workspace(root), Arguments("file", start, end))


def test_lines_are_numbered_and_a_part_has_both_ends(folder: Path) -> None:
    """Numbers agree with editors and compilers: only newlines end lines."""
    for text, start, end, read in (
        ("one\n\nthree\n", 1, None, "     1\tone\n     2\t\n     3\tthree"),
        ("one", 1, None, "     1\tone"),
        ("one\r\n", 1, None, "     1\tone"),
        ("a\x0cb\u2028c\x85d\n", 1, None, "     1\ta\x0cb\u2028c\x85d"),
        ("a\nb\nc\nd\n", 2, 3, "     2\tb\n     3\tc"),
        ("a\nb\nc\nd\n", 4, 99, "     4\td"),
        ("", 1, None, "The file is empty."),
        ("\ufeff", 1, None, "The file is empty."),
    ):
        assert run(folder, text, start, end) == read


def test_a_part_that_is_not_there_is_refused(folder: Path) -> None:
    """The sentence says what there is."""
    with pytest.raises(ToolError, match='"file" has only 2 lines'):
        run(folder, "a\nb\n", 3)
    with pytest.raises(ToolError, match="must not be before"):
        run(folder, "a\nb\n", 2, 1)


def test_a_long_file_is_cut_with_a_note(folder: Path) -> None:
    """The next call goes on exactly there; so is a very long line."""
    text = "".join(f"{n}\n" for n in range(1, 2 * MAX_READ_LINES + 2))
    first = run(folder, text).split("\n")
    assert len(first) == MAX_READ_LINES + 1
    assert first[-1] == "[Lines 1 to 2,000 of 4,001. Read on with start_line=2001.]"
    second = run(folder, text, 2001).split("\n")
    assert second[0] == "  2001\t2001"
    assert run(folder, text, 4001) == "  4001\t4001"
    text = run(folder, "x" * 1_000_000)
    assert len(text) < MAX_READ_LINE + 100
    assert text.endswith("… [998,000 more characters in this line]")


def test_wide_lines_are_cut_by_characters(folder: Path) -> None:
    """Each part fits, and nothing is left out between the parts."""
    text = "".join(f"{n} {'x' * 990}\n" for n in range(1, 301))
    start, seen = 1, []
    while start:
        lines = run(folder, text, start).split("\n")
        assert sum(map(len, lines)) < MAX_READ_CHARS + 200
        seen += [int(line[:6]) for line in lines if not line.startswith("[")]
        start = int(lines[-1].rpartition("=")[2].rstrip(".]")) if lines[-1][0] == "[" else 0
    assert seen == list(range(1, 301))
