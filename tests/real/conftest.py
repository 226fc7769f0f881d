"""A real server with a real, if small, model: llama.cpp, in a process of its own."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chatapp import sockets
from tests.chatapp.conftest import alice

__all__ = ["alice"]

ROOT = Path(__file__).parents[2]
WINDOW = 8_192
# Seconds: a machine like CI's reads a full window in one or two minutes.
PATIENCE = 900


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server."""
    python = Path(os.environ.get("REAL_PYTHON", ROOT / ".venv-real" / "bin" / "python"))
    if not python.exists():
        pytest.skip("There is no llama.cpp: .ci/real could not install it.")
    errors = tmp_path_factory.mktemp("llama") / "stderr.txt"
    with errors.open("w") as log:
        process = subprocess.Popen(
            [python, ROOT / "tests" / "real" / "llama.py", str(WINDOW)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout
    address = process.stdout.readline().strip()
    if not address:
        pytest.fail(f"llama.cpp did not start: {errors.read_text()[-2_000:]}")
    yield address
    process.kill()
    process.communicate()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a page's frames as long as a real model takes."""
    monkeypatch.setattr(sockets, "PATIENCE", PATIENCE)
