"""Observers whose clock the test sets."""

import uuid
from dataclasses import dataclass
from typing import override

from chatapp.context.turn_context import TurnContext
from chatapp.models import Turn
from chatapp.turns import crash_recovery
from chatapp.turns.crash_recovery import Observer


@dataclass
class Clock:
    """A clock that stands still unless it is told."""

    now: float = 1_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Watch(Observer):
    """An observer that looks whenever it is told to wait."""

    def __init__(self, *, has_queue: bool = False) -> None:
        self.clock = Clock()
        super().__init__(self.clock, has_queue=has_queue)

    def wait(self, *seconds: float) -> "Watch":
        """Look after so many seconds, and again after so many."""
        for one in seconds:
            self.clock.now += one
            self.look()
        return self

    def close(self) -> set[uuid.UUID]:
        """End what processes that are gone have left; return whose pages are to be told."""
        return crash_recovery.close_interrupted(self)

    def take_over(self) -> list[TurnContext]:
        """Go on with what waits in processes that are gone."""
        return [*crash_recovery.take_over(self)]


def keep_alive(*turns: Turn) -> object:
    """Give signs of life for turns; return what has to be heeded."""
    return crash_recovery.keep_alive([*turns])


def long_watch(*, has_queue: bool = False) -> Watch:
    """Return an observer that has seen for long enough whatever is silent now."""
    return Watch(has_queue=has_queue).wait(0, 2, 2, 2)


class Trust(Observer):
    """An observer that takes nobody for gone."""

    @override
    def _is_gone(self, owner: str, sign: object) -> bool:
        return False
