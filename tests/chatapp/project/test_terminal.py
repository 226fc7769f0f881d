"""Commands speak the language of the environment on the terminal, and nowhere else."""

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation
from django.utils.translation import get_language
from pytest_django import Settings

from chatapp.project import terminal
from chatapp.project.languages import background
from chatapp.project.sentences import number, reader_locale, translate
from tests.processes import ROOT


@pytest.fixture(autouse=True)
def no_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with an environment that asks for none, and has a folder for what is temporary."""
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    # A command line has argparse speak as it does.
    for name in ("_", "ngettext"):
        monkeypatch.setattr(argparse, name, getattr(argparse, name))


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sit at a terminal in Germany."""
    monkeypatch.setenv("LANG", "de_DE.UTF-8")


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "de"),
        ({"LANG": "de_AT@euro"}, "de"),
        ({"LANG": "pt_BR.UTF-8"}, "pt-br"),
        ({"LANG": "zh_CN"}, "zh-hans"),
        ({"LANG": "tlh_AQ.UTF-8"}, "en"),
        ({"LANG": "x" * 600}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "", "LC_ALL": "zh_CN.UTF-8"}, "zh-hans"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "tlh_AQ.UTF-8"}, "de"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "POSIX"}, "en"),
    ],
)
def test_the_first_language_that_is_known_is_spoken(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], language: str
) -> None:
    """As in other programs, C is the English that scripts read."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert terminal.language() == language


def test_what_begins_in_a_language_keeps_it(german: None) -> None:
    """So a server's tasks are in none of the terminal's, and say what they print in that."""

    async def language() -> tuple[str | None, str]:
        return get_language(), number(1_234)

    async def serve() -> list[tuple[str | None, str]]:
        with background():
            begun = asyncio.create_task(language())
        with terminal.speaking():
            return [await begun, await language()]

    with terminal.speaking():
        assert asyncio.run(serve()) == [("en", "1,234"), ("de", "1.234")]
    assert reader_locale.get() == "en"


def test_a_command_explains_itself_in_it(
    german: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With all that it takes; so does what reads its arguments, where it does not take them."""
    monkeypatch.setenv("COLUMNS", "500")
    backup = terminal.CommandLine().fetch_command("backup")
    backup.print_help("manage.py", "backup")
    explained = capsys.readouterr().out
    for words in ("Aufruf: ", "\nOptionen:\n", "diese Hilfe anzeigen und beenden"):
        assert words in explained
    for english in (type(backup).help, "default: DATA_DIR/backups/<time>.tar.gz"):
        assert translation.gettext(english) in explained
        assert english not in explained
    with pytest.raises(SystemExit) as refused:
        backup.run_from_argv(["manage.py", "backup", "--new"])
    assert refused.value.code == 2
    told = capsys.readouterr().err
    assert told.endswith("manage.py backup: Fehler: unbekannte Argumente: --new\n")


@pytest.mark.django_db
@pytest.mark.sqlite("a backup of its file")
@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "de_DE.UTF-8"}, "de"),
        ({"LANG": "ru_RU.UTF-8"}, "ru"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, "en"),
    ],
)
def test_a_command_says_in_it_what_was_done_and_what_could_not_be(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    environment: dict[str, str],
    language: str,
) -> None:
    """With the form for that number; and in English where scripts read it."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings.WORKSPACES_ROOT.mkdir()
    for name in "ab":
        (settings.WORKSPACES_ROOT / name).touch()
    path = tmp_path / "a.tar.gz"
    backup = terminal.CommandLine().fetch_command("backup")
    call_command(backup, str(path))
    said = capsys.readouterr().out.splitlines()[0]
    with translation.override(language):
        wrote = translate(
            "Wrote {path}: {count} file.", "Wrote {path}: {count:,} files.", path=path, count=3
        )
        there = translate("{path} is there already.", path=path)
    assert said == wrote
    with pytest.raises(CommandError, match=f"^{re.escape(there)}$"):
        call_command(backup, str(path))


# SQLite writes what has no room in memory to a file of its own.
_SPILLS = """
from django.db import connection
ask = connection.cursor().execute
ask("PRAGMA cache_size = 1")
ask("CREATE TEMP TABLE t AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
    "LIMIT 20000) SELECT i, hex(randomblob(100)) FROM n")
"""


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
def test_a_system_that_can_not_be_written_to_keeps_temporary_files_beside_the_data(
    tmp_path: Path,
) -> None:
    """As in a container whose root is read-only."""
    sealed = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    command = ("--bind", str(tmp_path), str(tmp_path), sys.executable, "manage.py", "shell", "-c")
    done = subprocess.run(
        [*sealed, *command, _SPILLS],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
