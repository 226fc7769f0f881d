"""Clocks: how long work takes beside its floor, whatever else the machine does."""

import time
from collections.abc import Callable

Work = Callable[[], object]


def beside(
    work: Work,
    floor: Work,
    times: int = 5,
    *,
    after: Work = int,
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, float]:
    """Return the milliseconds of the fastest runs of both, made in turn.

    Those of the processor, in all threads of this process, unless there is another ``clock``.
    Whatever else the machine does only ever adds time; ``after`` puts back what ``work`` did.
    """
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(times):
        taken[0].append(once(work, clock))
        after()
        taken[1].append(once(floor, clock))
    return 1_000 * min(taken[0]), 1_000 * min(taken[1])


def once(work: Work, clock: Callable[[], float] = time.process_time) -> float:
    """Return the seconds of one run."""
    started = clock()
    work()
    return clock() - started


def many(work: Work, times: int = 40) -> Work:
    """Make one run of ``work`` many, for what takes too little to be measured once."""

    def all_of_them() -> None:
        for _ in range(times):
            work()

    return all_of_them
