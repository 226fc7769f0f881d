"""Searching files."""

import re
from functools import partial
from pathlib import Path

import pytest

from chatapp.agent.errors import ToolError
from chatapp.tools import search_files
from chatapp.tools.search_files import MAX_FOUND_CHARS, MAX_MATCHES, Arguments
from chatapp.tools.workspace import MAX_ENTRIES, MAX_FOLDER_DEPTH, Workspace
from tests.growth import LARGE, LINEAR, SMALL, assert_cheap

UNREAD = "[1 folders can't be read, lie too deep or have too many entries: not all searched.]"


def run(root: Path, pattern: str, path: str = ".", glob: str | None = None) -> str:
    """Return what is found."""
    return search_files.run(Workspace(root), Arguments(pattern, path, glob))


@pytest.fixture
def root(folder: Path) -> Path:
    """A small project."""
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("import os\n\n\ndef alpha():\n    return 1\n# end\n")
    (folder / "src" / "deep" / "b.ts").write_text("const alpha = 1;\r\n")
    (folder / "c.md").write_text("No such word, ALPHA apart.")
    return folder


def test_matches_come_with_their_place_and_context(root: Path) -> None:
    """File by file, the matching line marked by a colon; gaps are shown."""
    for pattern, path, found in (
        (
            "alpha",
            ".",
            "src/a.py\n3- \n4: def alpha():\n5-     return 1\n\nsrc/deep/b.ts\n1: const alpha = 1;",
        ),
        ("^import|^#", "src/a.py", "src/a.py\n1: import os\n2- \n--\n5-     return 1\n6: # end"),
        (";$", "src/deep/b.ts", "src/deep/b.ts\n1: const alpha = 1;"),
        ("omega", ".", "No line matches."),
    ):
        assert run(root, pattern, path) == found


def test_a_pattern_is_matched_line_by_line(root: Path) -> None:
    """Anchors mean the line, and no match crosses its end."""
    for pattern, lines in (
        ("^def", [4]),
        ("^$", [2, 3]),
        (r"os\s+def", []),
        ("[^q]*", [1, 2, 3, 4, 5, 6]),
        ("(?s)os.*end", []),
    ):
        found = re.findall(r"^(\d+):", run(root, pattern, "src/a.py"), re.MULTILINE)
        assert [int(number) for number in found] == lines


def test_what_is_no_pattern_is_searched_as_text(folder: Path) -> None:
    """And that is said."""
    for pattern in ("alpha(", "(?=alpha)", r"(a)\1", "a{2000}"):
        (folder / "file").write_text(f"one\n{pattern}\n")
        found = run(folder, pattern)
        assert f"2: {pattern}" in found
        assert "searched as text" in found


def test_a_glob_chooses_the_files(root: Path) -> None:
    """By name or by path."""
    for glob, files in (
        ("*.py", ["src/a.py"]),
        ("src/*", ["src/a.py", "src/deep/b.ts"]),
        ("*.{py,ts}", ["src/a.py", "src/deep/b.ts"]),
        ("**/*.md", ["c.md"]),
        ("src/**/*.py", ["src/a.py"]),
        ("{src,lib}/**/*.{py,ts}", ["src/a.py", "src/deep/b.ts"]),
        ("[", []),
    ):
        found = run(root, "(?i)alpha", glob=glob)
        assert re.findall(r"^[\w/]+\.\w+$", found, re.MULTILINE) == files


def test_files_that_are_no_text_are_counted(root: Path) -> None:
    """The model knows what it has not seen."""
    (root / "x.bin").write_bytes(b"alpha\0")
    (root / "y.bin").write_bytes(b"alpha\xff\x01")
    with (root / "huge").open("wb") as file:
        file.truncate(100 * 1024**3)
    found = run(root, "omega")
    assert "[3 files are no text or too large and were not searched.]" in found
    (root / "node_modules").mkdir()
    root.joinpath(*["deep"] * (MAX_FOLDER_DEPTH + 1)).mkdir(parents=True)
    found = run(root, "omega")
    assert UNREAD in found


@pytest.mark.rare
def test_a_folder_of_too_many_entries_is_named(root: Path) -> None:
    """Not every file was looked at, so that no match means nothing."""
    for number in range(MAX_ENTRIES + 1):
        (root / str(number)).touch()
    assert UNREAD in run(root, "x", glob="none")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(a?){999}a{999}",
        "((((a{100}){100}){100}){100}){100}",
        "(" * 499 + ")" * 499,
    ],
)
def test_no_pattern_can_hang_the_search(folder: Path, pattern: str) -> None:
    """Nor fill the memory while it is compiled."""
    for size in (SMALL, LARGE):
        (folder / str(size)).mkdir()
        (folder / str(size) / "file").write_text("a" * size + "!\n")
    small, large = folder / str(SMALL), folder / str(LARGE)
    assert_cheap(lambda: run(large, pattern), lambda: run(small, pattern), LINEAR, pattern)


def test_no_glob_can_hang_the_search(folder: Path) -> None:
    """Names may be long as well."""
    (folder / ("a" * 250)).write_text("x")
    for glob in ("*a" * 100 + "b", "{a,b}" * 6, "{" * 1000, "[!" * 500):
        work = partial(run, folder, "x", glob=glob)
        assert_cheap(work, lambda: run(folder, "x", glob="*"), 100, glob)
    for glob in ("{a,b}" * 40, "*" * 1_001):
        with pytest.raises(ToolError, match="'glob' stands for too many others"):
            run(folder, "x", glob=glob)


def test_an_empty_or_endless_pattern_is_refused(folder: Path) -> None:
    """It could only be a mistake."""
    for pattern in ("", "x" * 1_001, "\ud800"):
        with pytest.raises(ToolError, match="'pattern'"):
            run(folder, pattern)


def test_many_matches_are_cut_with_a_note(folder: Path) -> None:
    """In one file or in many."""
    (folder / "a").write_text("x\n" * 150)
    (folder / "b").write_text("x\n" * 150)
    (folder / "c").write_text("x\n" * 150)
    found = run(folder, "x")
    assert found.count(": x") == MAX_MATCHES
    assert found.endswith(
        "[Stopped after 200 matching lines were found. Narrow the pattern, the path or the glob.]"
    )


def test_long_lines_are_cut(folder: Path) -> None:
    """A minified file has few lines, but long ones."""
    (folder / "min.js").write_text(("x" * 100_000 + "\n") * 300)
    assert len(run(folder, "x")) < MAX_FOUND_CHARS + 20_000


def test_a_search_stops_when_its_time_is_up_or_it_has_read_enough(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or when it has read enough; it says how far it came."""
    (folder / "a").write_text("x\n")
    with monkeypatch.context() as hurried:
        hurried.setattr(search_files, "MAX_SECONDS", -1.0)
        assert "[Stopped after 0 files were searched." in run(folder, "x")
    for name in "abc":
        (folder / name).write_text("x" * 100)
    monkeypatch.setattr(search_files, "MAX_SEARCHED_BYTES", 150)
    assert "[Stopped after 2 files were searched." in run(folder, "y")
