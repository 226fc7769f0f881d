"""Costs of work beside other work in the same run: no machine is too slow for such a bound."""

import functools
import gc
import time
from collections.abc import Callable

Work = Callable[[], object]

SMALL, LARGE = 25_000, 200_000  # characters
LINEAR = 10  # eight times the text may cost ten times as much
TRIES = 6


def assert_cheap(work: Work, other: Work, times: float, name: str = "") -> None:
    """Fail unless ``work`` takes at most so many times the processor time of ``other``.

    The fastest of several runs of both count, made in turn: all else only ever adds time. What a
    pass over 2,000,000 numbers takes is no difference.
    """
    noise = _noise()
    taken = allowed = float("inf")
    for _ in range(TRIES):
        taken = min(taken, seconds(work))
        if taken <= noise:
            return
        allowed = min(allowed, seconds(other), seconds(other))
        if taken <= times * allowed + noise:
            return
    raise AssertionError(f"{name} takes {taken:.4f} s, more than {times} times {allowed:.4f} s")


def assert_linear(
    read: Callable[[str], object], text: Callable[[int], str], name: str, times: float = LINEAR
) -> None:
    """Fail unless a text of eight times the size takes at most ``times`` as long to read."""
    small, large = text(SMALL), text(LARGE)
    assert_cheap(lambda: read(large), lambda: read(small), times, name)


def fastest(work: Work) -> float:
    """Return the least processor time of three runs, in seconds."""
    return min(seconds(work) for _ in range(3))


def seconds(work: Work) -> float:
    """Return the processor time of one run, during which nobody looks for garbage."""
    # That of the run before would make this one wait for memory.
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


@functools.cache
def _noise() -> float:
    return fastest(lambda: sum(range(2_000_000)))
