"""Observers whose clock the test sets, and processes that live elsewhere."""

from dataclasses import dataclass

from chatapp.models import Process
from chatapp.operations.processes import Observer

# An owner that gives no signs of life here; with a row, it lives.
ELSEWHERE = "there/1/1"


@dataclass
class Clock:
    """A clock that stands still unless it is told."""

    now: float = 1_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Watch(Observer):
    """An observer that looks whenever it is told to wait."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__("worker", self.clock)

    def wait(self, *seconds: float) -> list[str]:
        """Look after so many seconds, and again after so many; return who is gone then."""
        gone = list[str]()
        for one in seconds:
            self.clock.now += one
            gone += self.look()
        return gone


def live_elsewhere() -> None:
    """Have the owner elsewhere live."""
    Process.objects.get_or_create(name=ELSEWHERE, kind="worker")
