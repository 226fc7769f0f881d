"""The load of this process: runs, watchers, and the delay of the event loop."""

import contextvars
import threading
import time
from dataclasses import dataclass

from chatapp.turns.active_conversations import hub

# Seconds after which nobody waits for the event loop any longer.
LONGEST_LAG = 5.0


@dataclass(frozen=True, slots=True)
class Load:
    """Turns that run, pages that watch, and the event loop's lag in seconds, None without one."""

    turns: int
    watchers: int
    lag: float | None


def read_load() -> Load:
    """Return how busy this process is; callable from any thread but the event loop's."""
    watchers = sum(room.watchers.count for room in [*hub.rooms.values()])
    return Load(len(hub.jobs), watchers, _lag())


def _lag() -> float | None:
    """Return the seconds until the event loop gets to what it is asked to do now."""
    loop = hub.loop
    if loop is None or loop.is_closed():
        return None
    reached, asked = threading.Event(), time.monotonic()
    loop.call_soon_threadsafe(reached.set, context=contextvars.Context())
    reached.wait(LONGEST_LAG)
    return time.monotonic() - asked
