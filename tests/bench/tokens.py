"""Rows of tokens: what counting takes, and whether the event loop goes on meanwhile."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import tiktoken

import condense
from tests.bench.clock import beside, once
from tests.bench.table import Row

# Bytes of source.
SIZE = 2_000_000
BARE = "tiktoken's encode_ordinary"


def measure_tokens(sources: list[Path]) -> Iterator[Row]:
    """Yield the rows of counting."""
    loading = once(lambda: condense.load_encoding("o200k_base"))
    encoding = condense.load_encoding("o200k_base")
    making = min(once(lambda: _make(encoding)) for _ in range(3))
    yield Row(
        "load the vocabulary, once a process",
        1_000 * loading,
        "ms",
        4,
        "tiktoken's own making of it",
        1_000 * making,
    )
    text, counter = _read(sources), condense.PromptCounter()

    def bare() -> object:
        return encoding.encode_ordinary(text)

    count, encode = beside(lambda: counter.count(text), bare)
    yield Row("count the tokens of 2 MB of source", count, "ms", 1.3, BARE, encode)
    held = _longest_pause(lambda: counter.count(text))
    least = _longest_pause(bare)
    yield Row("… and the event loop waits", held, "ms", 4, f"{BARE} in a thread", least)


def _make(encoding: tiktoken.Encoding) -> tiktoken.Encoding:
    """Make the same vocabulary anew from what it was made of."""
    return tiktoken.Encoding(
        "again",
        pat_str=encoding._pat_str,
        mergeable_ranks=encoding._mergeable_ranks,
        special_tokens=encoding._special_tokens,
    )


def _read(sources: list[Path]) -> str:
    text = ""
    for path in sources:
        text += path.read_text(encoding="utf-8")
        if len(text) >= SIZE:
            break
    return text[:SIZE]


def _longest_pause(work: Callable[[], object]) -> float:
    """Return the median of the most milliseconds for which the loop was held up by each of five."""
    return median(asyncio.run(_held_up(work)) for _ in range(5))


async def _held_up(work: Callable[[], object]) -> float:
    working = asyncio.create_task(asyncio.to_thread(work))
    longest, last = 0.0, time.perf_counter()
    while not working.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return 1_000 * longest
