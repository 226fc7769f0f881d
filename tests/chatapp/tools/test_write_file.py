"""Writing: no path that a model can write leads out of the folder, and no file is half written."""

import os
import stat
from pathlib import Path

import pytest

from chatapp.agent.errors import ToolError
from chatapp.tools import write_file
from chatapp.tools.workspace import MAX_FILE, WritableWorkspace


@pytest.fixture
def workspace(folder: Path) -> WritableWorkspace:
    """A folder with a file, beside one that nobody may write."""
    (folder / "a.txt").write_text("one\n")
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "key").write_text("secret")
    return WritableWorkspace(folder)


def write(workspace: WritableWorkspace, path: str, content: str = "new\n") -> str:
    """Write a file as the model does."""
    return write_file.run(workspace, write_file.Arguments(path, content))


def everything(root: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    files = (one for one in root.rglob("*") if one.is_file())
    return {str(one.relative_to(root)): one.read_bytes() for one in files}


def test_files_are_made_with_their_folders_and_replaced(workspace: WritableWorkspace) -> None:
    """The result says which; a script stays one that can be run, and keeps its line ends."""
    assert write(workspace, "new/folder/b.txt") == "Made the file; it has 1 lines."
    assert write(workspace, "a.txt", "1\u2028\f\n2\n") == "Replaced the file; it has 2 lines."
    assert write(workspace, "a.txt", "") == "Replaced the file; it has 0 lines."
    write(workspace, "a.txt", "1\n2\n")
    assert everything(workspace.root) == {"a.txt": b"1\n2\n", "new/folder/b.txt": b"new\n"}
    script = workspace.root / "run.sh"
    script.write_bytes(b"a\r\nb\r\n")
    script.chmod(0o755)
    write(workspace, "run.sh", "c\nd\n")
    assert script.read_bytes() == b"c\r\nd\r\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755


def test_no_path_leads_out_or_to_what_is_no_file(workspace: WritableWorkspace) -> None:
    """Links, devices, version control, names that nobody can type: each is refused in words."""
    root = workspace.root
    (root / "sub").mkdir()
    (root / "link").symlink_to(root.parent / "outside")
    (root / "link-to-key").symlink_to(root.parent / "outside" / "key")
    os.mkfifo(root / "fifo")
    before = everything(root.parent)
    for path in (
        "../outside/key", "..", "/etc/passwd", "a/../../outside/key", "%2e%2e/outside/key", "",
        ".", "a.txt/b", "link/key", "link-to-key", "new\0.txt", "n" * 256, "n/" * 3_000, "a\nb",
        ".git/hooks/pre-commit", "sub/.GIT/config", ".hg/hgrc", "fifo", "sub", " ", "a ",
    ):  # fmt: skip
        with pytest.raises(ToolError) as refused:
            write(workspace, path)
        assert str(root) not in str(refused.value)
        assert everything(root.parent) == before


def test_a_link_within_the_folder_is_followed(workspace: WritableWorkspace) -> None:
    """It stays a link; a hard link is replaced by a file of its own."""
    (workspace.root / "link").symlink_to("a.txt")
    write(workspace, "link")
    assert (workspace.root / "link").is_symlink()
    assert (workspace.root / "a.txt").read_text() == "new\n"
    os.link(workspace.root.parent / "outside" / "key", workspace.root / "second")
    write(workspace, "second")
    assert (workspace.root.parent / "outside" / "key").read_text() == "secret"
    assert (workspace.root / "second").read_text() == "new\n"


def test_a_link_put_in_place_of_a_folder_after_the_check_leads_nowhere(
    workspace: WritableWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between resolving a path and opening it, anything may be exchanged for a link."""
    root = workspace.root
    (root / "sub").mkdir()
    original = WritableWorkspace.locate

    def locate(self: WritableWorkspace, path: str) -> tuple[str, ...]:
        parts = original(self, path)
        if (root / "sub").is_dir() and not (root / "sub").is_symlink():
            (root / "sub").rename(root / "moved")
            (root / "sub").symlink_to(root.parent / "outside")
        return parts

    monkeypatch.setattr(WritableWorkspace, "locate", locate)
    with pytest.raises(ToolError):
        workspace.write_bytes("sub/key", b"written")
    assert (root.parent / "outside" / "key").read_text() == "secret"


def test_what_is_too_large_or_no_text_is_refused(workspace: WritableWorkspace) -> None:
    """The file stays as it was, and nothing lies beside it."""
    for content in ("x" * (MAX_FILE + 1), "half a character: \ud800"):
        with pytest.raises(ToolError):
            write(workspace, "a.txt", content)
    assert everything(workspace.root) == {"a.txt": b"one\n"}


def test_a_write_that_fails_leaves_the_file_as_it_was(
    workspace: WritableWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers see the old file or the new one."""

    def fail(*_args: object, **_named: object) -> None:
        raise OSError(28, "full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ToolError, match="no room left"):
        write(workspace, "a.txt")
    assert everything(workspace.root) == {"a.txt": b"one\n"}


def test_the_difference_is_shown_before(workspace: WritableWorkspace) -> None:
    """For a file that is there, and for a new one; nothing is written by it."""
    arguments = write_file.Arguments("a.txt", "one\ntwo\n")
    shown = write_file.preview(workspace, arguments)
    assert shown.splitlines() == ["--- a.txt", "+++ a.txt", "@@ -1 +1,2 @@", " one", "+two"]
    new = write_file.preview(workspace, write_file.Arguments("b.txt", "b\n"))
    assert new.splitlines()[0] == "--- /dev/null"
    long = write_file.preview(workspace, write_file.Arguments("c.txt", "x" * 999 + " rm -r ~\n"))
    assert long.splitlines()[-1] == f"+{'x' * 999}… [8 more characters in this line]"
    (workspace.root / "a.py").write_text("# one\u2028two()\n")
    odd = write_file.preview(workspace, write_file.Arguments("a.py", "# one\ntwo()\n"))
    assert odd.splitlines()[-3:] == ["-# one\\u2028", "+# one", " two()"]
    (workspace.root / "a.py").unlink()
    (workspace.root / "logo.png").write_bytes(b"\x89PNG\0")
    over = write_file.preview(workspace, write_file.Arguments("logo.png", "x\n"))
    assert over.splitlines()[-1] == "[This replaces a file that can't be shown.]"
    assert "/dev/null" not in over
    (workspace.root / "logo.png").unlink()
    assert everything(workspace.root) == {"a.txt": b"one\n"}
