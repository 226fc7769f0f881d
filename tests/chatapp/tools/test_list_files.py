"""Listing a folder."""

from pathlib import Path

import pytest

from chatapp.agent.errors import ToolError
from chatapp.tools import list_files
from chatapp.tools.list_files import MAX_LINES, Arguments
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
    (folder / "link").symlink_to("/etc")
    return folder


def test_a_folder_is_listed_with_sizes(root: Path) -> None:
    """Sorted by name; folders end with a slash."""
    assert run(root) == ".git/\na.txt (3 bytes)\nlink (link)\nsrc/"


def test_paths_are_ready_to_be_read(root: Path) -> None:
    """They are relative to the workspace, not to the folder."""
    assert run(root, "src/deep") == "src/deep/x.py (3 KB)"


def test_folders_inside_are_listed_on_request(root: Path) -> None:
    """What is left out is said."""
    assert run(root, recursive=True).split("\n") == [
        ".git/ (not listed)",
        "a.txt (3 bytes)",
        "link (link)",
        "src/",
        "src/deep/",
        "src/deep/x.py (3 KB)",
    ]


def test_a_file_lists_itself(root: Path) -> None:
    """With its size."""
    assert run(root, "a.txt") == "a.txt (3 bytes)"


def test_an_empty_folder_is_said_to_be_empty(folder: Path) -> None:
    """An empty answer would look like a failure."""
    assert run(folder) == "The folder is empty."


def test_a_long_list_is_cut_with_a_note(folder: Path) -> None:
    """The model is told how to see the rest."""
    for number in range(MAX_LINES + 1):
        (folder / f"{number:04}").touch()
    *lines, note = run(folder).split("\n")
    assert len(lines) == MAX_LINES
    assert note == "[Only the first 500 entries. List a folder inside instead.]"


def test_a_full_list_has_no_note(folder: Path) -> None:
    """Exactly as many as fit."""
    for number in range(MAX_LINES):
        (folder / f"{number:04}").touch()
    assert "[" not in run(folder)


def test_very_long_names_are_cut_with_a_note(folder: Path) -> None:
    """The limit in characters holds too."""
    for number in range(MAX_LINES):
        (folder / f"{number:04}{'x' * 200}").touch()
    assert len(run(folder)) < list_files.MAX_TEXT + 100


@pytest.mark.parametrize("name", ["a\n[Only the first 1 entries.]", "\x1b[2J", "\u202etxt.exe"])
def test_a_name_cannot_pass_for_another_line(folder: Path, name: str) -> None:
    """Its odd bytes are written as %XX."""
    (folder / name).touch()
    listing = run(folder)
    assert "\n" not in listing
    assert listing.isprintable()
    assert listing.startswith(("a%0A[", "%1B[", "%E2%80%AE"))


def test_html_in_a_name_is_only_text(folder: Path) -> None:
    """The page escapes it; the model needs it as it is."""
    (folder / "<b>x").touch()
    assert run(folder) == "<b>x (0 bytes)"


def test_a_folder_outside_is_refused(root: Path) -> None:
    """Also through a link."""
    for path in ("..", "/", "link"):
        with pytest.raises(ToolError, match="outside the workspace"):
            run(root, path)
