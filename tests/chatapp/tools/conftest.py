"""The folder the tools work in."""

import asyncio
from pathlib import Path

import pytest


class Watching:
    """Somebody who watches a call."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.came = asyncio.Event()

    def show(self, output: str) -> None:
        self.shown.append(output)
        self.came.set()

    async def ask(self, question: str, answers: object, /) -> str:
        raise AssertionError(question)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty workspace."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder
