"""How long something takes when nothing else gets in its way."""

import time
from collections.abc import Callable
from statistics import median


def fastest(
    work: Callable[[], object], times: int = 5, *, after: Callable[[], object] = int
) -> float:
    """Return the seconds of the fastest run; ``after`` puts things back and is not counted.

    Whatever else the machine does only ever adds time.
    """
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
        after()
    return min(seconds)


def typical(work: Callable[[], object], times: int = 40, rounds: int = 5) -> float:
    """Return the median seconds of many short runs, in the quietest of some rounds."""
    return min(median(fastest(work, times=1) for _ in range(times)) for _ in range(rounds))
