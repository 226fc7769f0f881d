"""The wheel: what it holds, and the server that it makes of an empty environment."""

import json
import os
import re
import sqlite3
import subprocess
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.chatapp.server_processes import PATIENCE, SIGN_IN
from tests.chatapp.visitors import Visitor
from tests.deployment.debian import need
from tests.deployment.environments import environment, lend_packages, pip
from tests.processes import ROOT

FOLDER = Path(".local", "share", "palimpsest")
CARRIED = ("README.md", "docs", "static", "templates")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built by what the lock file names, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={folder}", str(ROOT))
    (built,) = folder.iterdir()
    return built


def run(program: Path, *arguments: str, home: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, far from the checkout."""
    return subprocess.run(
        [program, *arguments],
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def bare(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> "subprocess.CompletedProcess[str]":
    """What the command that the wheel brings says where nothing else is installed."""
    home = tmp_path_factory.mktemp("home")
    python = environment(tmp_path_factory.mktemp("environment"))
    pip("install", "--no-index", "--no-deps", str(wheel), python=python)
    return run(python.with_name("palimpsest"), "serve", home=home)


@pytest.fixture(scope="module")
def program(bare: "subprocess.CompletedProcess[str]") -> Path:
    """The same command where all that it needs is installed, too."""
    program = Path(bare.args[0])
    lend_packages(program.parents[1])
    return program


@contextmanager
def serving(program: Path, home: Path) -> Iterator[list[str]]:
    """Run a server that is told its port at most; yield the two lines that it prints."""
    with subprocess.Popen(
        [program, "serve"],
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PORT": "0"},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        try:
            yield [server.stdout.readline(), server.stdout.readline()]
        finally:
            server.terminate()


def converse(program: Path, home: Path) -> None:
    """Do the main job with a server that never ran before: a message, and an answer that stays."""
    data = home / FOLDER
    with serving(program, home) as (link, place):
        assert SIGN_IN.match(link), link
        assert place == f"Everything is stored in {data}, unless DATA_DIR says otherwise.\n"
        visitor = Visitor(link.strip())
        page = visitor.read("/")
        for asset in re.findall(r'(?:href|src)="(/static/[^"#]+)"', page):
            assert re.search(r"\.[0-9a-f]{12}\.", asset), f"{asset} was not collected"
        (sheet,) = re.findall(r'href="(/static/css/site\.\w+\.css)"', page)
        assert "{" in visitor.read(sheet)
        visitor.read("/")
        visitor.post("/c/new/")
        with visitor.open_socket() as socket:
            said = {"type": "message.send", "text": "Who are you?", "nonce": str(uuid.uuid4())}
            socket.send(json.dumps(said))
            while not is_over(json.loads(socket.recv(PATIENCE))):
                pass
    with closing(sqlite3.connect(data / "palimpsest.sqlite3")) as database:
        ((content, status),) = database.execute(
            "SELECT m.content, t.status FROM chatapp_turn t "
            "JOIN chatapp_message m ON m.turn_id = t.id WHERE m.role = 'assistant'"
        )
    assert "offline stand-in" in json.loads(content)[0]["text"]
    assert status == "succeeded"


def files(*places: Path) -> Iterator[Path]:
    """Yield the files at and below some places, but for what Python leaves there."""
    for place in places:
        for path in (place, *place.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def is_over(frame: dict[str, object]) -> bool:
    """Whether a frame says that a turn has ended."""
    return frame["type"] == "status.changed" and not frame["turn"]


def test_a_wheel_has_every_file_that_a_server_reads(wheel: Path) -> None:
    """Templates, assets, documents and compiled catalogues; tests stay here."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        (licence,) = (one for one in archive.namelist() if one.endswith("/licenses/LICENSE"))
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert f'"./dist/{wheel.name}[app]"' in (ROOT / "README.md").read_text("utf-8")
    own = {str(path.relative_to(ROOT)) for path in files(ROOT / "chatapp", ROOT / "condense")}
    # Of a language it holds what was compiled, which a checkout may not have.
    sources = {name for name in own if name.startswith("chatapp/locale/")}
    own -= sources
    own |= {name.replace(".po", ".mo") for name in sources if name.endswith("/django.po")}
    carried = files(*(ROOT / name for name in CARRIED))
    own |= {f"chatapp/resources/{path.relative_to(ROOT)}" for path in carried}
    assert held == own


def test_a_server_runs_from_its_wheel_alone(
    bare: "subprocess.CompletedProcess[str]", program: Path, tmp_path: Path
) -> None:
    """In the user's folder for data, and with every command under one name."""
    assert (bare.returncode, bare.stderr) == (
        1,
        "palimpsest needs the extra `app`: install the wheel as `palimpsest-….whl[app]`.\n",
    )
    home = tmp_path / "home"
    home.mkdir()
    converse(program, home)
    checked = run(program, "check_integrity", home=home)
    assert checked.returncode == 0, checked.stderr
    assert "(`palimpsest serve`)" in run(program, "work", home=home).stderr
    assert [*home.iterdir()] == [home / ".local"]


def test_a_unit_runs_the_wheel(program: Path, tmp_path: Path) -> None:
    """With the command that it brings; systemd takes it, and rates it as no more than medium."""
    analyze = need("systemd-analyze", "systemd")
    text = (ROOT / "docs" / "deploy" / "palimpsest-serve@.service").read_text("utf-8")
    checkout = "/opt/palimpsest/.venv/bin/python manage.py serve"
    assert checkout in text
    text = text.replace(checkout, f"{program} serve").replace("/opt/palimpsest", str(tmp_path))
    unit = tmp_path / "palimpsest-serve@8001.service"
    unit.write_text(text)
    verify = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)
    assert (verify.returncode, verify.stdout + verify.stderr) == (0, "")
    rated = [analyze, "security", "--offline=true", "--threshold=55", unit]
    done = subprocess.run(rated, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.soak
def test_a_wheel_brings_all_that_it_needs(wheel: Path, tmp_path: Path) -> None:
    """From PyPI: the engine without the application's packages, and then the server."""
    home = tmp_path / "home"
    home.mkdir()
    python = environment(tmp_path / "environment")
    pip("install", str(wheel), python=python)
    engine = "import condense; condense.TiktokenCounter().count('word'); import django"
    done = run(python, "-c", engine, home=home)
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'django'\n")
    pip("install", f"{wheel}[app]", python=python)
    converse(python.with_name("palimpsest"), home)
