"""Listing a folder."""

from pathlib import Path

import pytest

from chatapp.tools import list_files
from chatapp.tools.list_files import MAX_LISTED_LINES, Arguments
from chatapp.tools.workspace import Workspace


def run(root: Path, path: str = ".", *, recursive: bool = False) -> str:
    """Return the listing."""
    return list_files.run(Workspace(root), Arguments(path, recursive))


@pytest.fixture
def root(folder: Path) -> Path:
    """A small project."""
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "deep" / "x.py").write_text("x" * 3_000)
    (folder / "a.txt").write_text("one")
    (folder / ".git").mkdir()
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("/etc")
    return folder


INSIDE = "a.txt (3 bytes)\nempty/\nlink (link)\nsrc/"


def test_files_are_listed_with_sizes(root: Path) -> None:
    """Sorted by name, and by paths that can be read; what is left out is said."""
    for path, recursive, listing in (
        (".", False, f".git/\n{INSIDE}"),
        (".", True, f".git/ (not listed)\n{INSIDE}\nsrc/deep/\nsrc/deep/x.py (3 KB)"),
        ("src/deep", False, "src/deep/x.py (3 KB)"),
        ("a.txt", False, "a.txt (3 bytes)"),
        ("empty", False, "The folder is empty."),
    ):
        assert run(root, path, recursive=recursive) == listing


def test_a_long_list_is_cut_with_a_note(folder: Path) -> None:
    """The model is told how to see the rest; exactly as many as fit need no note."""
    for number in range(MAX_LISTED_LINES):
        (folder / f"{number:04}").touch()
    assert "[" not in run(folder)
    (folder / "one more").touch()
    *lines, note = run(folder).split("\n")
    assert len(lines) == MAX_LISTED_LINES
    assert note == "[Only the first 500 entries. List a folder inside instead.]"


def test_very_long_names_are_cut_with_a_note(folder: Path) -> None:
    """The limit in characters holds too."""
    for number in range(MAX_LISTED_LINES):
        (folder / f"{number:04}{'x' * 200}").touch()
    assert len(run(folder)) < list_files.MAX_LISTED_CHARS + 100
