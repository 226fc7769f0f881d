""".ci/install installs once; .ci/browser and .ci/services say what is missing."""

import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose lock files are empty, and whose pip only writes down its calls.

    Its Python "makes" the virtual environment that is there; "ended" lacks what comes last.
    """
    (tmp_path / ".ci" / "requirements").mkdir(parents=True)
    for script in ("python", "install", "compile_messages"):
        shutil.copy(ROOT / ".ci" / script, tmp_path / ".ci" / script)
    for lock in ("app", "scale", "dev"):
        (tmp_path / ".ci" / "requirements" / f"{lock}.txt").write_text(f"# {lock}\n")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    commands = {
        "whole": f'pip) echo "$@" >> "{tmp_path}/calls"; exit "${{PIP_EXIT:-0}}"',
        "maker": f'venv) exec cp "{tmp_path}/whole" "{python}"',
        "ended": f'*) exec "{sys.executable}" -S "$@"',
    }
    for name, case in commands.items():
        script = f'#!/bin/sh\ncase "$2" in {case};; esac\nexec "{sys.executable}" "$@"\n'
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    shutil.copy(tmp_path / "whole", python)
    return tmp_path


def install(checkout: Path, what: str, *, pip_exit: int = 0) -> int:
    """Run the script; returns its exit code."""
    return subprocess.run(
        ["/bin/sh", str(checkout / ".ci" / "install"), what],
        env={
            "PATH": "/usr/bin:/bin",
            "PIP_EXIT": str(pip_exit),
            "PYTHON": str(checkout / "maker"),
        },
        capture_output=True,
        check=False,
    ).returncode


@pytest.mark.parametrize(
    ("starts", "calls"),
    [
        (("app", "app"), 1),
        (("app", "a newer lock", "app"), 2),
        (("dev", "app", "scale"), 1),
        (("app", "scale", "app"), 2),
        (("a broken pip", "app"), 2),
        (("an ended start", "app", "app"), 1),
    ],
    ids=[
        "a second start",
        "a changed lock",
        "dev contains all",
        "scale adds to app",
        "a failure leaves no stamp",
        "a start that was ended",
    ],
)
def test_what_is_installed_is_installed_once(
    checkout: Path, starts: tuple[str, ...], calls: int
) -> None:
    """A stamp equals the lock file; whatever is installed has the hash that is named there."""
    for start in starts:
        if start == "a newer lock":
            (checkout / ".ci" / "requirements" / "app.txt").write_text("# newer\n")
        elif start == "a broken pip":
            assert install(checkout, "app", pip_exit=1) != 0
        elif start == "an ended start":
            shutil.copy(checkout / "ended", checkout / ".venv" / "bin" / "python")
        else:
            assert install(checkout, start) == 0
    asked = (checkout / "calls").read_text().splitlines()
    assert len(asked) == calls
    assert all("--require-hashes" in call for call in asked)


def test_each_stage_is_a_line_with_its_seconds(checkout: Path) -> None:
    """So that nobody wonders for minutes."""
    said = subprocess.run(
        ["/bin/sh", str(checkout / ".ci" / "install"), "app"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    stages = r"Installing 0 packages into \.venv … \d+ s\nCompiling the translations … \d+ s\n"
    assert re.fullmatch(stages, said)


def test_a_start_waits_until_another_has_installed(checkout: Path) -> None:
    """It finds half of an environment otherwise."""
    script = checkout / ".ci" / "install"
    with script.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        start = subprocess.Popen(
            ["/bin/sh", str(script), "app"],
            env={"PATH": "/usr/bin:/bin"},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert start.stderr
        assert start.stderr.readline() == "Waiting for another start to install …\n"
        assert not (checkout / "calls").exists()
    _said, more = start.communicate()
    assert (start.returncode, more.count("\n")) == (0, 2)


def test_a_taken_port_is_told_before_anything_is_installed() -> None:
    """With what can be done; a free one is fine."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = [_try_port(port), _try_port("0")]
    refusal = f"Cannot listen on 127.0.0.1 port {port}: Address already in use. Set HOST or PORT"
    assert told[0].startswith(refusal)
    assert told[1] == ""
    make = (ROOT / "Makefile").read_text()
    assert make.index("@.ci/port") < make.index("@.ci/install app")


def test_a_missing_python_is_one_sentence(tmp_path: Path) -> None:
    """With what to install."""
    for tool in ("dirname", "sort"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    said = _try_port("0", PATH=str(tmp_path), PYTHON="")
    assert said.startswith("Palimpsest needs Python 3.12 or newer")
    assert said.count("\n") == 1


def _try_port(port: str, **other: str) -> str:
    tried = [str(ROOT / ".ci" / "port")]
    environment = {"PATH": os.environ["PATH"], "PORT": port, "PYTHON": sys.executable, **other}
    return subprocess.run(
        tried, env=environment, capture_output=True, text=True, check=False
    ).stderr


def test_the_lock_files_have_hashes_and_agree() -> None:
    """They name no address, and whatever the application runs with is what its tests run with."""
    pins = {}
    for lock in ("app", "scale", "dev"):
        text = (ROOT / ".ci" / "requirements" / f"{lock}.txt").read_text()
        assert "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")
        pins[lock] = {line.split()[0] for line in text.splitlines() if "==" in line}
    assert pins["app"] < pins["scale"] < pins["dev"]


@pytest.fixture
def nothing_there(tmp_path: Path) -> Path:
    """A PATH folder of a person without root, and without a browser or a server."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "id").write_text("#!/bin/sh\necho 1000\n")
    (folder / "id").chmod(0o755)
    return folder


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
@pytest.mark.parametrize(
    ("script", "remedy"),
    [
        ("browser", "apt-get install chromium"),
        ("services", "apt-get install postgresql redis-server"),
        ("services redis-server", "apt-get install redis-server"),
    ],
)
def test_what_is_missing_fails_only_in_ci(
    nothing_there: Path, script: str, remedy: str, ci: str, code: int
) -> None:
    """Elsewhere the reason and the remedy are printed, and the other tests run."""
    name, *wanted = script.split()
    done = subprocess.run(
        ["/bin/sh", str(ROOT / ".ci" / name), *wanted],
        env={"PATH": str(nothing_there), "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert remedy in done.stderr
