"""Search and replace: a hundred cases, and what holds for any text."""

import contextlib
import itertools
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.agent.errors import ToolError
from chatapp.tools import apply_diff
from chatapp.tools.text_edits import Block, apply_blocks, read_blocks
from chatapp.tools.workspace import WritableWorkspace
from tests.growth import assert_linear

CODE = """\
def one():
    return 1


class Two:
    def first(self):
        return 1

    def second(self):
        if self:
            return 2
        return 1
"""


def patch(search: str, replace: str, line: int | None = None) -> str:
    """Return a patch of one block."""
    start = f":start_line:{line}\n-------\n" if line else ""
    ends = ("" if not text or text.endswith("\n") else "\n" for text in (search, replace))
    first, second = ends
    return f"<<<<<<< SEARCH\n{start}{search}{first}=======\n{replace}{second}>>>>>>> REPLACE"


def change(text: str, search: str, replace: str, line: int | None = None) -> str:
    """Return a text as a patch of one block makes it."""
    return apply_blocks(text, read_blocks(patch(search, replace, line)))


# Each line of the code, as a model may write it: what is sought, and what it becomes.
WAYS = {
    "as it is": str,
    "with space at its end": lambda line: f"{line}   ",
    "with a tab at its end": lambda line: f"{line}\t",
    "without indentation": str.lstrip,
    "with more indentation": lambda line: f"    {line}" if line.strip() else line,
    "with tabs": lambda line: line.replace("    ", "\t"),
    "with wide spaces": lambda line: line.replace(" ", "  "),
}
LINES = CODE.splitlines()
SPANS = [(0, 2), (8, 12), (3, 12)]
CASES = [*itertools.product(WAYS, SPANS, ("middle", "file"))]


def test_a_block_is_found_however_its_white_space_is_written() -> None:
    """What comes there has the indentation of the text, and nothing else is changed."""
    for way, span, where in CASES:
        start, end = span
        sought = [WAYS[way](line) for line in LINES[start:end]]
        text = CODE if where == "file" else f"# before\n{CODE}# after\n"
        marked = [f"{line}  # changed" if line.strip() else line for line in sought]
        changed = change(text, "\n".join(sought), "\n".join(marked)).splitlines()
        offset = 0 if where == "file" else 1
        expected = [f"{line}  # changed" if line.strip() else "" for line in LINES[start:end]]
        found = changed[start + offset : end + offset]
        assert [" ".join(line.split()) for line in found] == [
            " ".join(one.split()) for one in expected
        ]
        if way in {"without indentation", "with more indentation", "with tabs"}:
            assert [indent(line) for line in found] == [indent(line) for line in expected]
        rest = text.splitlines()
        assert changed[: start + offset] == rest[: start + offset]
        assert changed[end + offset :] == rest[end + offset :]


def indent(line: str) -> str:
    """Return the white space before a line's words."""
    return line[: len(line) - len(line.lstrip())] if line.strip() else ""


def test_new_lines_take_on_the_indentation_of_those_they_follow() -> None:
    """A model that writes a method flush left gets it where it belongs."""
    changed = change(
        CODE,
        "if self:\n    return 2\nreturn 1",
        "if self:\n    if True:\n        return 3\n    return 2\nreturn 1",
    )
    assert "        if self:\n            if True:\n                return 3\n" in changed
    assert "            return 2\n        return 1\n" in changed


def test_the_line_number_chooses_among_several_places() -> None:
    """The nearest one is meant; later blocks count lines as the file had them."""
    text = "a\nx\nb\nx\nc\n"
    assert change(text, "x", "y", 4) == "a\nx\nb\ny\nc\n"
    assert change(text, "x", "y", 1) == "a\ny\nb\nx\nc\n"
    with pytest.raises(ToolError, match="matches 2 places: lines 2, 4"):
        change(text, "x", "y")
    first, second = patch("a", "a\na2\na3", 1), patch("x", "y", 4)
    assert apply_blocks(text, read_blocks(f"{first}\n{second}")) == "a\na2\na3\nx\nb\ny\nc\n"
    # Also where a block before it changed lines further down.
    assert apply_blocks(text, read_blocks(f"{patch('c', 'c\nd', 5)}\n{patch('', 'new', 2)}")) == (
        "a\nnew\nx\nb\nx\nc\nd\n"
    )


def test_lines_are_inserted_before_a_line() -> None:
    """A block without lines says where; a line that looks like a mark has a backslash."""
    assert change("a\nb\n", "", "new", 2) == "a\nnew\nb\n"
    assert change("", "", "first\n") == "first\n" or change("", "", "first") == "first"
    with pytest.raises(ToolError, match=":start_line: with a line from 1 to 3"):
        change("a\nb\n", "", "new")
    text = "<<<<<<< SEARCH\nmine\n=======\ntheirs\n>>>>>>> REPLACE\n"
    blocks = read_blocks(
        "<<<<<<< SEARCH\n\\<<<<<<< SEARCH\nmine\n\\=======\ntheirs\n\\>>>>>>> REPLACE\n"
        "=======\nmine\n>>>>>>> REPLACE"
    )
    assert apply_blocks(text, blocks) == "mine\n"


def test_what_did_not_match_is_said_exactly() -> None:
    """The place that is most like it, and the first line that differs."""
    sought = "    def second(self):\n        if self:\n            return 3\n        return 1"
    with pytest.raises(ToolError) as refused:
        change(CODE, sought, "x")
    assert "Block 1 of 1 does not match, and nothing was changed." in str(refused.value)
    assert "Lines 9 to 12 of the file are most like it (3 of 4 lines" in str(refused.value)
    assert "Line 11 differs: expected '            return 3'" in str(refused.value)
    assert "found '            return 2'" in str(refused.value)
    with pytest.raises(ToolError, match=r"No line of it stands in the file. Line 1 of it is: 'q'"):
        change(CODE, "q\nz", "x")


def test_a_patch_of_another_shape_is_refused_and_shown_the_right_one() -> None:
    """Nothing is guessed."""
    for broken in (
        "", "nothing", "<<<<<<< SEARCH\na", "<<<<<<< SEARCH\na\n>>>>>>> REPLACE",
        "<<<<<<< SEARCH\na\n=======\nb", "<<<<<<< SEARCH\na\n=======\nb\n=======\n>>>>>>> REPLACE",
        "before\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
        "\n".join(["<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"] * 201),
    ):  # fmt: skip
        with pytest.raises(ToolError, match="A block looks like this:\n<<<<<<< SEARCH"):
            read_blocks(broken)


LINE = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=12)
ANY = st.lists(LINE, min_size=1, max_size=12)


@given(before=ANY, search=ANY, after=ANY, replace=st.lists(LINE, max_size=6))
def test_any_lines_that_stand_in_a_text_once_are_replaced_and_no_others(
    before: list[str], search: list[str], after: list[str], replace: list[str]
) -> None:
    """Whatever the lines are; what stands around them is as it was."""
    lines = [*before, *search, *after]
    near = len(before) + 1
    changed = apply_blocks("\n".join(lines), [Block(tuple(search), tuple(replace), near)])
    assert changed == "\n".join([*before, *replace, *after])


def test_a_file_keeps_its_line_ends_and_its_mark(folder: Path) -> None:
    """Only what was meant to change does."""
    for ends in ("\n", "\r\n"):
        for mark in (b"", b"\xef\xbb\xbf"):
            (folder / "a.txt").write_bytes(mark + f"one{ends}two{ends}three".encode())
            workspace = WritableWorkspace(folder)
            arguments = apply_diff.Arguments("a.txt", patch("two", "2"))
            assert "+2" in apply_diff.preview(workspace, arguments).splitlines()
            assert apply_diff.run(workspace, arguments) == "Applied 1 block."
            assert (folder / "a.txt").read_bytes() == mark + f"one{ends}2{ends}three".encode()


def test_all_blocks_are_applied_or_none(folder: Path) -> None:
    """A file is never half changed, and lines of both kinds keep their own ends."""
    (folder / "a.txt").write_text("one\ntwo\n")
    both = f"{patch('one', '1')}\n{patch('three', '3')}"
    with pytest.raises(ToolError, match="Block 2 of 2 does not match"):
        apply_diff.run(WritableWorkspace(folder), apply_diff.Arguments("a.txt", both))
    assert (folder / "a.txt").read_text() == "one\ntwo\n"
    same = apply_diff.Arguments("a.txt", patch("one", "one"))
    with pytest.raises(ToolError, match="nothing was changed"):
        apply_diff.run(WritableWorkspace(folder), same)
    (folder / "a.txt").write_bytes(b"one\r\ntwo\nthree\r\n")
    apply_diff.run(WritableWorkspace(folder), apply_diff.Arguments("a.txt", patch("two", "2")))
    assert (folder / "a.txt").read_bytes() == b"one\r\n2\nthree\r\n"


def test_lines_that_are_all_alike_are_replaced_in_linear_time() -> None:
    """Or the block is refused: each of them could be its beginning."""

    def replace(indent: str, text: str) -> None:
        lines = text.split("\n")
        sought = tuple(indent + line for line in lines[: len(lines) // 2])
        with contextlib.suppress(ToolError):
            apply_blocks(text, [Block(sought, sought, near=1)])

    for indent in ("", "  "):
        assert_linear(partial(replace, indent), lambda size: "a\n" * (size // 2), "apply_blocks")
