"""Commands speak the language of the environment on the terminal, and nowhere else."""

import asyncio
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from django.utils import translation
from django.utils.translation import get_language
from pytest_django import Settings

from chatapp import terminal
from chatapp.languages import background
from chatapp.sentences import number, reader_locale, translate
from tests.chatapp.server_processes import refusal
from tests.first_start import FirstStart
from tests.processes import ROOT

LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("pt-br", "Português"), ("zh-hans", "中文")]
WORDS = {
    "Writes database and workspaces to one archive; the server may run meanwhile.": "Sichert.",
    "default: DATA_DIR/backups/<time>.tar.gz": "sonst: DATA_DIR/backups/<Zeit>.tar.gz",
    "Cannot listen on {host} port {port}: {reason}. Set HOST or PORT to another value.": (
        "{host}, Port {port} ist besetzt."
    ),
}


@pytest.fixture(autouse=True)
def no_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with an environment that asks for none."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def german(tmp_path: Path) -> dict[str, str]:
    """The environment of a German who has these words, whatever the catalogues hold."""
    folder = tmp_path / "locale" / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    catalog = Catalog(locale="de")
    for english, words in WORDS.items():
        catalog.add(english, words)
    with (folder / "django.mo").open("wb") as file:
        write_mo(file, catalog)
    (tmp_path / "spoken.py").write_text(
        f"from chatapp.settings import *\nLANGUAGES = {LANGUAGES!r}\n"
        f"LOCALE_PATHS = [{str(tmp_path / 'locale')!r}]\n"
    )
    return {
        "DJANGO_SETTINGS_MODULE": "spoken",
        "PYTHONPATH": str(tmp_path),
        "LANG": "de_AT.UTF-8",
    }


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
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    language: str,
) -> None:
    """As in other programs, C is the English that scripts read."""
    settings.LANGUAGES = LANGUAGES
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert terminal.language() == language


def test_what_begins_in_a_language_keeps_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a server's tasks are in none of the terminal's, and say what they print in that."""
    settings.LANGUAGES = LANGUAGES
    monkeypatch.setenv("LANG", "de_DE.UTF-8")

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


def test_a_command_explains_itself_in_it(german: dict[str, str], tmp_path: Path) -> None:
    """With all that it takes."""
    done = subprocess.run(
        [sys.executable, "manage.py", "help", "backup"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), **german},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Sichert." in done.stdout
    assert "sonst: DATA_DIR/backups/<Zeit>.tar.gz" in done.stdout


def run(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a server's, with the words of the catalogues."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


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
    tmp_path: Path, first_start: FirstStart, environment: dict[str, str], language: str
) -> None:
    """With the form for that number; and in English where scripts read it."""
    data = first_start.copy(tmp_path / "data")
    path = tmp_path / "a.tar.gz"
    done = run(data, "backup", str(path), **environment)
    again = run(data, "backup", str(path), **environment)
    said = done.stdout.splitlines()[0]
    files = int(re.findall(r"\d+", said)[-1])
    with translation.override(language):
        wrote = translate(
            "Wrote {path}: {count} file.",
            "Wrote {path}: {count:,} files.",
            path=path,
            count=files,
        )
        there = translate("{path} is there already.", path=path)
    assert said == wrote
    assert again.returncode == 1
    assert again.stderr == f"CommandError: {there}\n"


def test_so_does_what_reads_its_arguments(tmp_path: Path) -> None:
    """Around the words of the command, and where it does not take them."""
    told = run(tmp_path, "help", "backup", LANG="de_DE.UTF-8").stdout
    for words in ("Aufruf: ", "\nOptionen:\n", "diese Hilfe anzeigen und beenden"):
        assert words in told
    refused = run(tmp_path, "backup", "--new", LANG="de_DE.UTF-8")
    assert refused.returncode == 2
    assert refused.stderr.endswith("manage.py backup: Fehler: unbekannte Argumente: --new\n")


def test_a_server_says_in_it_why_it_does_not_start(
    german: dict[str, str], tmp_path: Path, first_start: FirstStart
) -> None:
    """Although it serves in other ones."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refusal(first_start.copy(tmp_path / "data"), PORT=port, **german)
    assert said == f"CommandError: 127.0.0.1, Port {port} ist besetzt."
