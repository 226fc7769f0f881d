""".ci/python finds a Python that works, among many that may not."""

import subprocess
import sys
from pathlib import Path

import pytest

FINDER = Path(__file__).parents[2] / ".ci" / "python"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A PATH folder with the shell tools that the finder needs, and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sort", "sh"):
        (folder / tool).symlink_to(f"/usr/bin/{tool}")
    return folder


def fake(path: Path, version: tuple[int, int]) -> None:
    """Make a Python that claims a version and otherwise answers like the real one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        f'exec "{sys.executable}" -c "import sys; sys.version_info = {version}; exec(sys.argv[1])"'
        ' "$2"\n'
    )
    path.chmod(0o755)


def broken(path: Path) -> None:
    """Make a Python that is found and does not run, as a pyenv shim without its version."""
    path.write_text("#!/bin/sh\necho 'pyenv: python3.14: command not found' >&2\nexit 127\n")
    path.chmod(0o755)


def find(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the finder with this PATH and a home folder beside it."""
    return subprocess.run(
        ["/bin/sh", str(FINDER)],
        env={"PATH": str(path), "HOME": str(path.parent)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        ({"python3.12": 12, "python3.13": 13, "python3": 12}, "python3.13"),
        ({"python3.14": None, "python3.12": 12}, "python3.12"),
        ({"python3": 12}, "python3"),
    ],
    ids=["the newest name", "a shim that does not run", "plain python3"],
)
def test_the_newest_python_that_runs_is_taken(
    path: Path, there: dict[str, int | None], taken: str
) -> None:
    """Being found is not enough; python3 without a number is the last resort."""
    for name, minor in there.items():
        fake(path / name, (3, minor)) if minor else broken(path / name)
    assert find(path).stdout.strip() == str(path / taken)


def test_versions_under_pyenv_are_found(path: Path) -> None:
    """Those that pyenv does not select count, the newest first; PYTHON says which to take."""
    broken(path / "python3.12")
    fake(path / "python3", (3, 11))
    versions = path.parent / ".pyenv" / "versions"
    for name, version in (("3.12.9", (3, 12)), ("3.13.1", (3, 13)), ("3.11.7", (3, 11))):
        fake(versions / name / "bin" / "python3", version)
    assert find(path).stdout.strip() == str(versions / "3.13.1" / "bin" / "python3")
    fake(path / "python3.14", (3, 14))
    fake(path / "mine", (3, 12))
    found = find(path, PYTHON=str(path / "mine"))
    assert found.stdout.strip() == str(path / "mine")


def test_none_is_one_clear_sentence(path: Path) -> None:
    """An old Python does not count, and the sentence says what to do."""
    fake(path / "python3", (3, 11))
    found = find(path)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("Palimpsest needs Python 3.12 or newer")
    assert found.stderr.count("\n") == 1
