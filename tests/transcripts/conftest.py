"""Real recorded sessions as input: they lie outside the repository, in a folder that is given."""

from pathlib import Path

import pytest

from tests.chatapp.conftest import alice
from tests.standin.fixtures import anthropic_standin

__all__ = ["alice", "anthropic_standin"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the folder of the sessions."""
    parser.addoption("--transcripts", type=Path, help="folder of transcript files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test once per file; without a folder it is skipped."""
    if "transcript" not in metafunc.fixturenames:
        return
    folder = metafunc.config.getoption("transcripts", default=None)
    files = sorted(Path(folder).glob("*.json*")) if folder else []
    metafunc.parametrize("transcript", files, ids=lambda file: file.name.split(".")[0])
