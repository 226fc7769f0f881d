"""Paths that complete what was typed after ``@``."""

import os
from pathlib import Path

import pytest

from chatapp.composer.mentions import find_paths
from chatapp.tools.workspace import Workspace
from tests.growth import LINEAR, assert_cheap


def make(workspace: Workspace, *paths: str) -> None:
    """Make files with these paths."""
    for path in paths:
        file = workspace.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")


def found(workspace: Workspace, typed: str) -> list[str]:
    """Return the paths for what was typed."""
    return [one.path for one in find_paths(workspace, typed)]


def test_what_begins_so_goes_first(workspace: Workspace) -> None:
    """Then names that begin so, names that hold it, paths that do, and letters in their order."""
    make(workspace, "api/x.py", "src/api.py", "src/rapid.py", "lib/api/y.py", "a/p/i.txt", "b.py")
    assert found(workspace, "api") == [
        "api/", "api/x.py", "lib/api/", "src/api.py", "src/rapid.py", "lib/api/y.py", "a/p/i.txt",
    ]  # fmt: skip
    assert found(workspace, "API/X") == ["api/x.py"]
    assert found(workspace, "nothing") == []


def test_nothing_typed_yet_shows_what_lies_on_top(workspace: Workspace) -> None:
    """And a folder's path what is in it; at most twenty."""
    make(workspace, "b/c/d.txt", "a.txt", *(f"many/{number}.txt" for number in range(30)))
    assert found(workspace, "")[:3] == ["b/", "a.txt", "many/"]
    assert found(workspace, "./b/") == ["b/", "b/c/", "b/c/d.txt"]
    assert len(found(workspace, "many/")) == 20


def test_what_the_workspace_ignores_is_left_out(workspace: Workspace) -> None:
    """By its rules, and folders full of what nobody wrote."""
    make(workspace, "keep.log.txt", "a.log", "build/out.txt", "secret/key", "node_modules/x/y.js")
    (workspace.root / ".gitignore").write_text("*.log\nbuild/\n")
    (workspace.root / ".rooignore").write_text("secret/\n")
    assert set(found(workspace, "")) == {".gitignore", ".rooignore", "keep.log.txt"}


def test_links_and_devices_are_left_out(workspace: Workspace) -> None:
    """Whatever they would lead to."""
    (workspace.root / "out").symlink_to(workspace.root.parent)
    os.mkfifo(workspace.root / "pipe")
    os.mkfifo(workspace.root / ".gitignore")
    assert found(workspace, "") == []


@pytest.mark.parametrize("typed", ["../", "/etc", "..", "~", "\0", "*", "x" * 5_000])
def test_no_path_leads_outside(workspace: Workspace, typed: str) -> None:
    """What was typed is only compared."""
    make(workspace, "a.txt")
    assert found(workspace, typed) == []


def test_a_name_with_spaces_stands_in_quotes(workspace: Workspace) -> None:
    """So that it is one path when the message is read."""
    make(workspace, "my file.md", 'a"b c.md', "plain.md")
    mentions = {one.path: one.mention for one in find_paths(workspace, "")}
    assert mentions == {
        "my file.md": '@"my file.md"',
        'a"b c.md': '@"a%22b c.md"',
        "plain.md": "@plain.md",
    }


def test_files_are_found_in_linear_time(tmp_path: Path) -> None:
    """With rules to be followed."""
    workspaces = []
    for packages in (10, 80):
        root = tmp_path / f"{packages} packages"
        for folder in (root / f"package{number}" for number in range(packages)):
            folder.mkdir(parents=True)
            for module in range(100):
                (folder / f"module{module}.py").touch()
        (root / ".gitignore").write_text("*.log\nbuild/\n")
        workspaces.append(Workspace(root))

    def find(workspace: Workspace) -> None:
        assert found(workspace, "package7/module42")[0] == "package7/module42.py"

    small, large = workspaces
    assert_cheap(lambda: find(large), lambda: find(small), LINEAR)
