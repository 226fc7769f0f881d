"""The workspace against hostile paths and hostile files."""

import os
import socket
from pathlib import Path

import pytest

from chatapp.agent.errors import ToolError
from chatapp.tools import workspace as module
from chatapp.tools.workspace import MAX_FILE, Workspace, quote, show_size


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a file, beside a folder that nobody may see."""
    root = tmp_path / "host" / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("print('a')\n")
    (tmp_path / "host" / "secret").mkdir()
    (tmp_path / "host" / "secret" / "key.txt").write_text("the secret")
    return root


def refuse(root: Path, path: str) -> str:
    """Return why reading the path is refused, which never tells where the root is."""
    with pytest.raises(ToolError) as caught:
        Workspace(root).read_text(path)
    assert "host" not in str(caught.value).replace(path, "")
    return str(caught.value)


def test_a_file_is_read_by_any_path_that_stays_inside(root: Path) -> None:
    """Detours within the workspace are harmless, links too."""
    (root / "link").symlink_to("src")
    (root / "file").symlink_to("link/a.py")
    for path in ("src/a.py", "./src/a.py", "src//a.py", "src/../src/a.py", "file"):
        assert Workspace(root).read_text(path) == "print('a')\n"


def test_a_path_out_of_the_workspace_is_refused(root: Path) -> None:
    """Also by a link; whether there is something outside is not told either."""
    (root / "link").symlink_to("../secret/key.txt")
    (root / "absolute").symlink_to("/etc/passwd")
    (root / "dangling").symlink_to("../secret/missing")
    (root / "folder").symlink_to("../secret")
    for path in (
        "..", "../secret/key.txt", "../secret/missing.txt", "src/../../secret/key.txt",
        "missing/../../secret/key.txt", "/etc/passwd", "//etc/passwd", "/", "../root2",
        "../" * 50 + "etc/passwd", "%2e%2e/secret/key.txt", "%2Fetc/passwd", "folder/key.txt",
        "src%2f..%2f..%2fsecret", "link", "absolute", "dangling", "src/../folder/key.txt",
    ):  # fmt: skip
        assert "outside the workspace" in refuse(root, path)
        with pytest.raises(ToolError, match="outside the workspace"):
            Workspace(root).read_text(str(root / "src" / "a.py"))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("src/b.py", 'There is no file or folder "src/b.py".'),
        ("src/a.py/x", 'There is no file or folder "src/a.py/x".'),
        ("src", '"src" is a folder, not a file.'),
        ("", '"" is a folder, not a file.'),
        ("src/a.py\0.txt", 'The path "src/a.py\\u0000.txt" contains a NUL character.'),
        ("src/a.py%00.txt", 'The path "src/a.py%00.txt" contains a NUL character.'),
        ("circle", 'The link "circle" does not lead to a file in the workspace.'),
        ("pipe", '"pipe" is neither a file nor a folder.'),
        ("socket", '"socket" is neither a file nor a folder.'),
        ("huge", '"huge" has 100 GB; files over 10 MB are not read.'),
    ],
)
def test_what_cannot_be_read_is_refused_at_once(
    root: Path, path: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sentence that the model can act on, with the path as it was given."""
    monkeypatch.chdir(root)
    (root / "circle").symlink_to("other")
    (root / "other").symlink_to("circle")
    os.mkfifo(root / "pipe")
    with (root / "huge").open("wb") as file:
        file.truncate(100 * 1024**3)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert refuse(root, path) == said


@pytest.mark.parametrize("swapped", ["src", "src/a.py"])
def test_a_link_that_is_put_there_after_the_check_leads_nowhere(
    root: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between resolving a path and opening it, anything may be exchanged for a link."""
    original = Workspace.locate

    def locate(workspace: Workspace, path: str) -> tuple[str, ...]:
        parts = original(workspace, path)
        (root / swapped).rename(root / "moved")
        (root / swapped).symlink_to(
            root.parent / "secret" / ("" if swapped == "src" else "key.txt")
        )
        return parts

    (root.parent / "secret" / "a.py").write_text("the secret")
    monkeypatch.setattr(Workspace, "locate", locate)
    with pytest.raises(ToolError):
        Workspace(root).read_text("src/a.py")


def test_a_file_that_grows_is_read_to_the_limit(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size may change after it was looked at."""
    (root / "log").write_text("x" * 100)
    monkeypatch.setattr(module.os, "fstat", lambda fd, real=os.fstat: _smaller(real(fd)))
    monkeypatch.setattr(module, "MAX_FILE", 50)
    assert len(Workspace(root).read_bytes("log")) == 50


def _smaller(info: os.stat_result) -> os.stat_result:
    return os.stat_result([*info[:6], 0, *info[7:]])


def test_a_file_that_is_no_text_is_refused(root: Path) -> None:
    """A picture would fill the context with noise."""
    for data in (b"\x00", b"text\x00text", b"\xff\xd8\xff\x01", b"\x89PNG\r\n\x1a"):
        (root / "binary").write_bytes(data)
        assert refuse(root, "binary") == '"binary" is not a text file.'


def test_a_refused_permission_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's account decides what it may read."""

    def deny(*_args: object, **_kwargs: object) -> int:
        raise PermissionError(13, "denied", "/somewhere/host/root")

    monkeypatch.setattr(module.os, "open", deny)
    assert refuse(root, "src/a.py") == 'The server is not allowed to read "src/a.py".'


def test_a_path_that_is_too_long_is_refused_and_the_largest_file_is_read(root: Path) -> None:
    """And is not repeated in full; the largest file is read."""
    assert len(refuse(root, "x" * 5_000)) < 300
    assert len(refuse(root, "x/" * 50_000)) < 300
    (root / "large").write_bytes(b"x" * MAX_FILE)
    assert len(Workspace(root).read_bytes("large")) == MAX_FILE


def test_odd_paths_are_only_names(root: Path) -> None:
    """Nothing is expanded."""
    for path in ("\ud800", "a\ud800/b", "~", "~root/.ssh", "$HOME", "-rf", "*"):
        assert "There is no file or folder" in refuse(root, path) or "not a path" in refuse(
            root, path
        )


ODD_NAMES = [
    (b"a\nb", "a%0Ab"),
    (b"\x1b[31mred", "%1B[31mred"),
    (b"<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
    ("\u202egpj.exe".encode(), "%E2%80%AEgpj.exe"),
    (b" ", " "),
    (b"a'b\"c", "a'b\"c"),
    (b"r\xe9sum\xe9.txt", "r%E9sum%E9.txt"),
    ("r\u00e9sum\u00e9.txt".encode(), "r\u00e9sum\u00e9.txt"),
    (b"\xed\xa0\x80", "%ED%A0%80"),
    (b"r%E9sum%E9.txt", "r%25E9sum%25E9.txt"),
    (b"a%2520b", "a%252520b"),
    (b"100%", "100%"),
    (b"100%\xe9", "100%25%E9"),
]


@pytest.mark.parametrize(("name", "written"), ODD_NAMES)
def test_files_with_odd_names_are_walked_and_read_by_what_was_walked(
    root: Path, name: bytes, written: str
) -> None:
    """A name may hold anything but a slash and NUL; its path is one line of UTF-8."""
    folder = root / os.fsdecode(b"odd\xff")
    folder.mkdir()
    (folder / os.fsdecode(name)).write_text("x")
    (entry,) = Workspace(root).walk("odd%FF")
    assert entry.path == f"odd%FF/{written}"
    assert entry.path.encode().decode().isprintable()
    assert Workspace(root).read_text(entry.path) == "x"
    assert Workspace(root).holds(entry.path)


def test_a_walk_is_sorted_and_follows_no_link(root: Path) -> None:
    """Links out, links up and links in circles cost nothing, nor does a folder that vanishes."""
    (root / "link").symlink_to("../secret")
    (root / "src" / "up").symlink_to("..")
    (root / "B").write_text("12")
    os.mkfifo(root / "pipe")
    walked = [(entry.path, entry.kind, entry.size) for entry in Workspace(root).walk()]
    assert [(path, kind) for path, kind, _ in walked] == [
        ("B", "file"),
        ("link", "link"),
        ("pipe", "other"),
        ("src", "folder"),
        ("src/a.py", "file"),
        ("src/up", "link"),
    ]
    assert walked[0] == ("B", "file", 2)
    (root / "x").write_text("")
    walk = Workspace(root).walk()
    next(walk)
    (root / "x").unlink()
    list(walk)


def test_a_walk_leaves_out_what_nobody_wrote(root: Path) -> None:
    """It is walked when it is named."""
    (root / "node_modules" / "x").mkdir(parents=True)
    (entry, *_) = Workspace(root).walk()
    assert (entry.path, entry.closed) == ("node_modules", True)
    assert [entry.path for entry in Workspace(root).walk("node_modules")] == ["node_modules/x"]


def test_a_very_deep_tree_is_walked_to_a_limit(root: Path) -> None:
    """Neither recursion nor open files run out."""
    here = os.open(root, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    entries = list(Workspace(root).walk())
    assert max(entry.path.count("d/") for entry in entries) == module.MAX_FOLDER_DEPTH
    assert sum(entry.closed for entry in entries) == 1


def test_a_quoted_name_is_on_one_line_and_sizes_are_rounded_up() -> None:
    """No name can pass for a line of the tool's own; a file with something never has 0 KB."""
    assert [quote(name) for name in ("a b", "é<", "a\nb", "\ud800")] == [
        '"a b"', '"é<"', '"a\\nb"', '"\\ud800"',
    ]  # fmt: skip
    assert [show_size(n) for n in (0, 1023, 1024, 1025, 1024**2, 5 * 1024**3)] == [
        "0 bytes", "1,023 bytes", "1 KB", "2 KB", "1 MB", "5 GB",
    ]  # fmt: skip
