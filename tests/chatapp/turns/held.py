"""Turns that a test ends."""

import asyncio
from collections.abc import Callable
from typing import override

from chatapp.conversations.context.turn_context import TurnContext
from chatapp.turns.runner import TurnTask
from tests.chatapp.sockets import PATIENCE


class Held(TurnTask):
    """A turn that runs until a test ends it, whoever stops it; ``left`` says why it should end."""

    left = ""

    def __init__(self, run: TurnContext, on_end: Callable[[], object]) -> None:
        self._over = asyncio.Event()
        super().__init__(run, on_end)

    @override
    async def _do(self) -> None:
        await self._over.wait()

    @override
    def leave(self, reason: str) -> None:
        self.left = reason
        super().leave(reason)

    def end(self) -> None:
        """Let it come to its end, which is put on record then."""
        self._over.set()


class Holder:
    """Holds turns: whatever begins goes on until a test ends it."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self._begun = asyncio.Event()

    def start(self, run: TurnContext, on_end: Callable[[], object]) -> Held:
        """Hold one more."""
        self.held.append(Held(run, on_end))
        self._begun.set()
        return self.held[-1]

    async def until_begun(self, count: int) -> Held:
        """Return the newest turn once so many have begun."""
        async with asyncio.timeout(PATIENCE):
            while len(self.held) < count:
                self._begun.clear()
                await self._begun.wait()
        return self.held[-1]
