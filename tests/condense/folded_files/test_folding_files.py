"""Files of a workspace: which are read, which are skipped and why, what is kept in memory."""

import json
import os
import time
from pathlib import Path

import pytest

from condense import AttachFoldedFiles
from condense.errors import SkipReason
from condense.folded_files.results import Folded, FoldedFile
from condense.folded_files.sections import fold_files
from condense.folded_files.signatures import parser
from condense.folded_files.workspace import ignore_matcher
from condense.memory import Memory

SOURCE = "def {name}():\n    return 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one source file, beside a folder that is not part of it."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    write(folder / "a.py")
    return folder


def write(file: Path, name: str = "f") -> None:
    """Write a source that defines one function."""
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(SOURCE.format(name=name))


def included(folded: Folded) -> tuple[str, ...]:
    """Return the paths that were folded."""
    return tuple(one.path for one in folded.files)


def skipped(folded: Folded) -> dict[str, str]:
    """Return the reason for each path that was left out."""
    return {one.path: one.reason for one in folded.left_out}


def test_a_section_is_in_roos_format(root: Path) -> None:
    """A reminder with the path and that it is an outline, and a line for each definition."""
    folded = fold_files(["a.py"], root)
    (section,) = folded.sections
    assert section == (
        "<system-reminder>\n## File Context: a.py\n"
        "This is only an outline: read the file before you quote or change it.\n"
        "# a.py\n1--2 | def f():\n\n</system-reminder>"
    )
    assert included(folded) == ("a.py",)
    assert folded.characters == len(folded.sections[0])
    # A record says what was folded and what was left out, without the signatures themselves.
    folded = fold_files(["a.py", "gone.py"], root)
    record = Folded.from_json(json.loads(json.dumps(folded.to_json())))
    gone = FoldedFile("gone.py", reason="It no longer exists.")
    assert record == Folded(folded.characters, (FoldedFile("a.py", folded.characters),), (gone,))


def test_the_first_paths_come_first_when_not_all_fit(root: Path) -> None:
    """The rest is on record, and not even read."""
    paths = [f"{name}.py" for name in "abcdef"]
    for path in paths[:4]:
        write(root / path, name="f" * 150)
    folded = fold_files(paths, root, limit=890)
    assert included(folded) == ("a.py", "b.py", "c.py")
    assert folded.sections[2].endswith("\n... (truncated)\n</system-reminder>")
    assert set(skipped(folded).values()) == {SkipReason.NO_ROOM}
    assert list(skipped(folded)) == ["d.py", "e.py", "f.py"]
    assert folded.characters <= 890
    # Here there is no time at all; whoever condenses waits for it.
    assert skipped(fold_files(["a.py"], root, seconds=0)) == {"a.py": SkipReason.NO_TIME}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gone.py", SkipReason.GONE),
        ("notes.txt", SkipReason.NO_GRAMMAR),
        ("folder.py", SkipReason.NOT_A_FILE),
        ("pipe.py", SkipReason.NOT_A_FILE),
        ("binary.py", SkipReason.BINARY),
        ("large.py", SkipReason.TOO_LARGE),
        ("broken.py", SkipReason.BROKEN),
        ("empty.py", SkipReason.NOTHING),
        ("loop.py", SkipReason.UNREADABLE),
        ("nul\0.py", SkipReason.UNREADABLE),
        ("../outside.py", SkipReason.OUTSIDE),
        ("/etc/passwd", SkipReason.OUTSIDE),
        ("link_out.py", SkipReason.OUTSIDE),
        ("folder_out/outside.py", SkipReason.OUTSIDE),
        (".", SkipReason.OUTSIDE),
    ],
)
def test_what_is_no_source_is_skipped_with_its_reason(
    root: Path, path: str, reason: SkipReason
) -> None:
    """It stops nothing else."""
    write(root.parent / "outside.py")
    (root / "notes.txt").write_text("words")
    (root / "folder.py").mkdir()
    os.mkfifo(root / "pipe.py")
    (root / "binary.py").write_bytes(b"def f():\0 pass\n")
    (root / "large.py").touch()
    os.truncate(root / "large.py", 11_000_000)
    (root / "broken.py").write_text(")))) ((((")
    (root / "empty.py").write_text("")
    (root / "loop.py").symlink_to("loop.py")
    (root / "link_out.py").symlink_to(root.parent / "outside.py")
    (root / "folder_out").symlink_to(root.parent)
    folded = fold_files([path, "a.py"], root)
    assert folded.left_out == (FoldedFile(path, reason=reason),)
    assert included(folded) == ("a.py",)


def test_a_link_within_the_workspace_is_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace itself may be none, and two spellings are one file."""
    (root / "link.py").symlink_to("a.py")
    assert "## File Context: link.py\n" in fold_files(["link.py"], root).sections[0]
    link = root.parent / "link"
    link.symlink_to(root)
    assert included(AttachFoldedFiles(link).fold(["a.py"], 1_000)) == ()
    monkeypatch.chdir(root)
    assert included(AttachFoldedFiles(".").fold(["a.py"], 1_000)) == ("a.py",)
    folded = fold_files(["./a.py", "a.py", "sub/../a.py"], root)
    assert included(folded) == ("./a.py",)
    assert set(skipped(folded).values()) == {SkipReason.REPEATED}


def test_ignored_files_are_skipped(root: Path) -> None:
    """In the syntax of .gitignore; rules that can't be read exclude everything."""
    (root / ".rooignore").write_text("# secrets\n*.secret.py\n/private/\n!kept.secret.py\n!\n")
    for path in ("x.secret.py", "kept.secret.py", "private/x.py", "sub/private/x.py"):
        write(root / path, path)
    paths = ["x.secret.py", "kept.secret.py", "private/x.py", "sub/private/x.py"]
    folded = fold_files([*paths, str(root / "private/x.py")], root)
    assert set(included(folded)) == {"kept.secret.py", "sub/private/x.py"}
    assert set(skipped(folded).values()) == {SkipReason.IGNORED}
    (root / ".rooignore").unlink()
    (root / ".rooignore").mkdir()
    assert skipped(fold_files(["a.py"], root)) == {"a.py": SkipReason.IGNORED}
    write(root / "b.py")
    folded = fold_files(["a.py", "b.py"], root, ignore=ignore_matcher(["b.*"]))
    assert included(folded) == ("a.py",)


@pytest.mark.parametrize(
    ("link", "target"), [("open.py", "private/x.py"), ("private/y.py", "a.py")]
)
def test_a_link_opens_nothing_that_is_ignored(root: Path, link: str, target: str) -> None:
    """Neither its name nor where it leads may be excluded."""
    (root / ".rooignore").write_text("private/\n")
    write(root / "private/x.py")
    (root / link).symlink_to(root / target)
    assert skipped(fold_files([link], root)) == {link: SkipReason.IGNORED}


def test_a_source_is_parsed_once(root: Path) -> None:
    """What counts is its content; what is kept is bounded, the least recently used go first."""
    (root / "a.py").write_text(f"def once_{time.time_ns()}(): ...\n")
    fold_files(["a.py"], root)
    parser.close()
    os.utime(root / "a.py", (1, 1))
    (root / "b.py").write_bytes((root / "a.py").read_bytes())
    assert included(fold_files(["a.py", "b.py"], root)) == ("a.py", "b.py")
    assert parser._process is None
    cache = Memory[str](1_000, len)
    for number in range(100):
        cache.get(b"%d" % number, lambda: "x" * 100)
    calls: list[int] = []
    cache.get(b"99", lambda: calls.append(1) or "")  # type: ignore[func-returns-value]
    assert not calls
    cache.get(b"0", lambda: calls.append(1) or "")  # type: ignore[func-returns-value]
    assert calls
