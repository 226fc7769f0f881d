"""Ports between the live views and the runner of turns.

Both are parts of this process now: tasks, and queues. A worker that runs turns elsewhere, and a
channel that hints at news, can take their place; nothing else would change.
"""

import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from chatapp.agent import events
from chatapp.context.condense_requests import CondenseRequest
from chatapp.context.turn_context import TurnContext
from chatapp.live.outgoing_frames import Place
from chatapp.live.status_panel import Notice


class EventChannel(Protocol):
    """Tells whoever watches one conversation; without anybody it costs nothing."""

    def begin(self, run: TurnContext) -> None:
        """Say that something runs."""
        ...

    def publish(self, event: events.TurnEvent) -> None:
        """Tell what happened; returns at once."""
        ...

    async def end(self, status: str, notice: Notice | None, *, changed: bool = False) -> None:
        """Say that nothing runs any more, and why; ``changed`` where a row says how it ended."""
        ...


class RunningTurn(Protocol):
    """A turn that runs."""

    @property
    def run(self) -> TurnContext:
        """What it works with."""
        ...

    def stop(self) -> None:
        """Stop it; what was written so far is kept."""
        ...

    def leave(self, reason: str) -> None:
        """Let it end at its next safe point; it was interrupted then, for this ``reason``."""
        ...

    def wake(self) -> None:
        """Look at what a person has answered."""
        ...

    def cancel_condensing(self) -> None:
        """Cancel the condensation that runs or is to begin; a turn that waits for it goes on."""
        ...

    def condense_soon(self, wish: CondenseRequest) -> None:
        """Condense after the step that runs, because somebody asked for it."""
        ...

    async def ended(self) -> None:
        """Return when nothing of it runs any more."""
        ...


# Begins a turn that is on record, at once. When nothing of it runs any more the function is called,
# with whether it did what it was to.
Runner = Callable[[TurnContext, EventChannel, Callable[[bool], None]], RunningTurn]


@dataclass(frozen=True, slots=True)
class Load:
    """Turns that run, pages that watch, and the event loop's lag in seconds, None without one."""

    turns: int
    watchers: int
    lag: float | None


class LiveService(Protocol):
    """What comes in asks of the live part: pages, and whatever watches over the server."""

    @property
    def closing(self) -> bool:
        """Whether no turn may begin here any more."""
        ...

    async def watch(self, conversation_id: uuid.UUID, since: Place | None) -> AsyncIterator[str]:
        """Return the frames that a page lacks which has everything up to ``since``, then all."""
        ...

    def newest(self, conversation_id: uuid.UUID) -> int:
        """Return the number of the last change that pages of a conversation were told of."""
        ...

    def load(self) -> Load:
        """Return how busy the process is; callable from any thread but the event loop's."""
        ...
