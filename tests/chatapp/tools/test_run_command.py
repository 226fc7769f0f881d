"""Commands: within time and limits, without the server's secrets, and nothing of them is left."""

import asyncio
import fcntl
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chatapp.agent.errors import ToolError
from chatapp.agent.ports import Line, ToolOutcome
from chatapp.tools import WorkspaceToolbox, read_output, shell
from chatapp.tools.long_outputs import HEAD, TAIL, Outputs, cut_in_the_middle, find_output
from chatapp.tools.shell import MAX_ALL, MAX_KEPT, MAX_OUTPUTS, Shell, make_room
from tests.chatapp.tools.conftest import Watching

PATIENCE = 120  # seconds

# Decimals by which what a test has started is told from all else that sleeps on this machine.
OWN = f"{os.getpid():07}"


Run = Callable[..., "asyncio.Future[ToolOutcome]"]


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Where long outputs are kept."""
    return tmp_path / "outputs"


@pytest.fixture
def toolbox(folder: Path, outputs: Path) -> WorkspaceToolbox:
    """The tools where the operator allows commands."""
    return WorkspaceToolbox(
        folder,
        offers={
            Outputs: lambda _line: Outputs(outputs),
            Line: lambda line: line,
            Shell: lambda line: Shell(folder, outputs, line),
        },
    )


async def run(toolbox: WorkspaceToolbox, command: str, **more: int) -> ToolOutcome:
    """Run a command as the model does."""
    return await toolbox.run("run_command", {"command": command, **more})


async def test_a_command_gives_its_output_and_how_it_ended(
    toolbox: WorkspaceToolbox, folder: Path
) -> None:
    """In the workspace, without input and signs to a terminal; what fails is marked as such."""
    for command, text in (
        ("echo one; echo two >&2; pwd", r"one\ntwo\n/.*/{}\n\[Exit code 0 after \d+\.\d s\.\]"),
        ("false", r"\[No output\.\]\n\[Exit code 1 .*"),
        ("no-such-program", r"(?s).*\[Exit code 127 .*"),
        ("read answer || echo nobody answers; cat", r"nobody answers\n\[Exit code 0 .*"),
        (r"printf '\033[31mred\033[0m \377\000x\r\n'", "red \N{REPLACEMENT CHARACTER}x\n.*"),
        ("dd if=/dev/zero of=/dev/null bs=5G count=1", r"(?s).*memory exhausted.*\[Exit code 1 .*"),
    ):
        outcome = await run(toolbox, command)
        assert re.fullmatch(text.replace("{}", folder.name), outcome.text)
        assert outcome.is_error is ("[Exit code 0" not in outcome.text)


async def test_a_command_is_not_offered_unless_the_operator_allows_it(folder: Path) -> None:
    """Whatever the policies say."""
    names = [spec.name for spec in WorkspaceToolbox(folder).specs]
    assert "run_command" not in names
    assert "read_output" not in names


async def test_nothing_of_the_servers_environment_is_there(
    toolbox: WorkspaceToolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key, no path, no name."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    outcome = await run(toolbox, "env | cut -d= -f1 | sort")
    names = "HOME LANG OLDPWD PATH PWD PYTHONDONTWRITEBYTECODE SHLVL TERM _"
    assert {*outcome.text.split("[")[0].split()} <= {*names.split()}


def running(words: str) -> list[int]:
    """Return the processes whose command line has these words, zombies left out."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if words in line and "pytest" not in line:
            found.append(int(process.name))
    return found


async def test_what_a_command_leaves_running_ends_with_it(toolbox: WorkspaceToolbox) -> None:
    """Also what has a session of its own and gave up its parent."""
    lasting = f"sleep 2000.{OWN}"
    daemon = f"(setsid sh -c '{lasting}' >/dev/null 2>&1 &)"
    outcome = await run(toolbox, f"{daemon}; {lasting} >/dev/null 2>&1 & echo gone")
    assert outcome.text.startswith("gone\n")
    assert not running(lasting)


async def test_stop_ends_a_command_with_all_that_it_has_started(
    toolbox: WorkspaceToolbox, folder: Path
) -> None:
    """Its group, and what left it."""
    watching, lasting = Watching(), f"sleep 3000.{OWN}"
    command = f"(setsid {lasting} &) ; echo on; {lasting}"
    call = asyncio.create_task(toolbox.run("run_command", {"command": command}, watching))
    async with asyncio.timeout(PATIENCE):
        await watching.came.wait()
    assert watching.shown[-1] == "on\n"
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not running(lasting)


async def test_a_command_that_makes_processes_without_end_is_ended(
    toolbox: WorkspaceToolbox,
) -> None:
    """When its time is up: none of them is left, and what it said by then is there."""
    lasting = f"sleep 4000.{OWN}"
    loop = f"while :; do {lasting} & sleep 0.05; done"
    bomb = f"echo begun; for n in 1 2 3 4 5 6 7 8; do ({loop}) & done; wait"
    # As long as a busy machine may take to start a shell.
    outcome = await run(toolbox, bomb, timeout=3)
    assert outcome.is_error
    assert outcome.text.startswith("begun\n[Ended after 3 s, with all that it had started.")
    assert not running(lasting)


async def test_a_flood_is_cut_in_the_middle_and_kept_whole(
    toolbox: WorkspaceToolbox, outputs: Path
) -> None:
    """5 MB: the model gets both ends, and can read the rest; watchers get the end now and then."""
    watching = Watching()
    command = "yes 0123456789abcde | head -c 5242880; echo the end"
    outcome = await toolbox.run("run_command", {"command": command}, watching)
    assert len(outcome.text) < HEAD + TAIL + 500
    assert outcome.text.startswith("0123456789abcde\n")
    assert "the end\n[Exit code 0" in outcome.text
    found = re.search(r"All 5,242,888 can be read with read_output, name (\w+)\.", outcome.text)
    assert all(len(one) <= shell.SHOWN for one in watching.shown)
    part = await toolbox.run("read_output", {"name": found[1], "start": 2_621_440})
    assert part.text.startswith("0123456789abcde\n")
    assert "Read on with start=2661440." in part.text
    last = await toolbox.run("read_output", {"name": found[1], "start": 5_242_880})
    assert last.text == "the end\n"
    beyond = await toolbox.run("read_output", {"name": found[1], "start": 6_000_000})
    assert beyond.is_error


async def test_the_rest_of_an_endless_output_is_said_to_be_lost(
    folder: Path, outputs: Path
) -> None:
    """What is kept does not end where the command did."""
    offers = {Shell: lambda line: Shell(folder, outputs, line, most=100)}
    small = WorkspaceToolbox(folder, offers=offers)
    assert "only the first 100 bytes were kept" in (await run(small, "seq 1000")).text
    assert "kept" not in (await run(small, "seq 10")).text


def test_no_letter_is_lost_between_two_parts_of_an_output(outputs: Path) -> None:
    """A part ends with a whole letter, whatever bytes it has."""
    outputs.mkdir()
    said = "日" * 14_000
    (outputs / f"{'a' * 16}.txt").write_text(said)
    first = read_output.run(Outputs(outputs), read_output.Arguments("a" * 16))
    start = int(first.rpartition("start=")[2].removesuffix(".]"))
    rest = read_output.run(Outputs(outputs), read_output.Arguments("a" * 16, start))
    assert first.partition("\n")[0] + rest == said
    cut = cut_in_the_middle(outputs / f"{'a' * 16}.txt")
    head, note, tail = cut.split("\n")
    assert {*head, *tail} == {"日"}
    left = int(note.removeprefix("[").partition(" bytes")[0].replace(",", ""))
    assert left == len(said.encode()) - len((head + tail).encode())


def test_no_name_of_an_output_leads_elsewhere(outputs: Path) -> None:
    """They are names, not paths."""
    outputs.mkdir()
    (outputs.parent / "secret-key.txt").write_text("secret")
    for name in ("../../secret-key", "x", "", "0" * 16, "/etc/passwd"):
        with pytest.raises(ToolError, match="There is no output of this name"):
            find_output(outputs, name)


async def test_what_is_no_command_is_refused(toolbox: WorkspaceToolbox) -> None:
    """In a sentence."""
    for command in ("", "  ", "x" * 20_001, "echo \0"):
        outcome = await run(toolbox, command)
        assert outcome == ToolOutcome("A command has 1 to 20,000 characters.", is_error=True)


SERVER = """
import asyncio, sys
from pathlib import Path
from chatapp.agent.ports import NO_LINE
from chatapp.tools.shell import Shell
asyncio.run(Shell(Path(sys.argv[1]), Path(sys.argv[2]), NO_LINE).run(sys.argv[3], 1000))
"""


@pytest.mark.parametrize(
    ("size", "left"), [(0, MAX_OUTPUTS - 1), (MAX_KEPT, MAX_ALL // MAX_KEPT - 1)]
)
def test_the_oldest_outputs_make_room_for_the_next(outputs: Path, size: int, left: int) -> None:
    """Where there are many, or large ones: with the next one they keep to both limits."""
    outputs.mkdir()
    names = [f"{number:02}.txt" for number in range(MAX_OUTPUTS + 3)]
    for age, name in enumerate(names):
        path = outputs / name
        path.touch()
        os.truncate(path, size)
        os.utime(path, (age, age))
    make_room(outputs)
    assert sorted(path.name for path in outputs.iterdir()) == names[-left:]


def test_a_command_ends_with_a_server_that_is_killed(folder: Path, outputs: Path) -> None:
    """Nothing tells it: the pipe that it hangs on is closed by the system."""
    lasting = f"sleep 5000.{OWN}"
    command = f"(setsid {lasting} &); touch begun; {lasting}"
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(folder), str(outputs), command])
    wait_until(lambda: (folder / "begun").exists() and len(running(lasting)) >= 2)
    os.kill(server.pid, signal.SIGKILL)
    server.wait(PATIENCE)
    wait_until(lambda: not running(lasting))


# Begins something in a session of its own that has lost its parent, and waits until it has begun.
AWAY = "(setsid sh -c 'touch begun; {lasting}' &); until [ -e begun ]; do :; done;"


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server that has none; in it no command could reach its supervisor."""
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("without_bubblewrap")
@pytest.mark.parametrize("begin", ["{lasting} &", AWAY])
async def test_a_command_that_kills_its_supervisor_is_ended_at_once(
    toolbox: WorkspaceToolbox, begin: str
) -> None:
    """With all that it has started: what loses its parent becomes the server's child."""
    lasting = f"sleep 6000.{OWN}"
    command = f"echo on; {begin.format(lasting=lasting)} kill -9 $PPID; {lasting}"
    async with asyncio.timeout(PATIENCE):
        outcome = await run(toolbox, command, timeout=1000)
    assert outcome.is_error
    assert outcome.text.startswith("on\n[Ended, with all that it had started: it has killed")
    assert not running(lasting)


# Goes on in one process after another, each of which makes the next and ends.
RUNNING_AWAY = """
import fcntl, os, time
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
open("begun", "w")
until = time.monotonic() + 20
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
"""


@pytest.mark.usefixtures("without_bubblewrap")
@pytest.mark.parametrize("end", ["", "kill -9 $PPID"])
@pytest.mark.rare
async def test_what_runs_from_one_process_to_the_next_is_ended(
    toolbox: WorkspaceToolbox, folder: Path, end: str
) -> None:
    """However fast: with its command, or with what the server finds of it."""
    (folder / "away.py").write_text(RUNNING_AWAY)
    away = AWAY.format(lasting=f"{sys.executable} away.py >&- 2>&-").replace("touch begun; ", "")
    async with asyncio.timeout(PATIENCE):
        await run(toolbox, f"{away} {end}", timeout=1000)
    with (folder / "lock").open() as lock:
        # What still runs would hold it.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.usefixtures("without_bubblewrap")
async def test_the_time_limit_holds_where_a_command_halts_its_supervisor(
    folder: Path, outputs: Path
) -> None:
    """The server looks at the time as well, and waits no longer."""
    lasting = f"sleep 7000.{OWN}"
    command = f"echo on; {AWAY.format(lasting=lasting)} kill -STOP $PPID; {lasting}"
    ran = await Shell(folder, outputs, Watching()).run(command, 2)
    assert (ran.code, ran.output.read_text()) == (124, "on\n")
    assert not running(lasting)


def wait_until(holds: Callable[[], bool]) -> None:
    """Look until something holds; the system tells nobody when it does."""
    for _ in range(PATIENCE * 20):
        if holds():
            return
        signal.sigtimedwait([], 0.05)
    pytest.fail("it never came to that")


@pytest.mark.skipif(shell.bubblewrap() is None, reason="bubblewrap is not installed")
async def test_in_bubblewrap_a_command_sees_its_folder_and_the_system_only(
    toolbox: WorkspaceToolbox, folder: Path
) -> None:
    """Not what lies beside it, and no network."""
    (folder.parent / "key").write_text("secret")
    outcome = await run(toolbox, f"cat {folder.parent}/key; ls /proc | grep -c '^[0-9]'")
    assert "secret" not in outcome.text


@pytest.mark.parametrize("works", [True, False])
def test_commands_run_in_bubblewrap_where_that_works(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, works: bool
) -> None:
    """With the workspace to write, the system to read, and nothing else.

    In a container without namespaces every command would fail.
    """
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shell.sandboxed(folder, 9) == []
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\nexit {0 if works else 1}\n")
    program.chmod(0o755)
    first, *rest = shell.sandboxed(folder, 9) or [None]
    assert first == (str(program) if works else None)
    assert ({"--unshare-all", "--die-with-parent"} <= {*rest}) is works
    binds = [rest[at + 1 : at + 3] for at, one in enumerate(rest) if one.startswith("--bind")]
    assert binds == ([["9", str(folder)]] if works else [])
