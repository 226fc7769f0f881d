"""What counting tokens takes, and whether the event loop goes on meanwhile."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import condense
from tests.bench.table import Row
from tests.bench.timing import fastest, typical

# Bytes of source, as in the measurement of Roo Code.
SIZE = 2_000_000


def measure_tokens(sources: list[Path]) -> Iterator[Row]:
    """Yield the rows of counting."""
    started = time.perf_counter()
    condense.load_encoding("o200k_base")
    yield Row("load the vocabulary, once a process", _ms(started), 1_000, "ms", there=405)
    text = _read(sources)
    counter = condense.PromptCounter()
    speed = SIZE / 1e6 / fastest(lambda: counter.count(text))
    yield Row("count the tokens of 2 MB of source", speed, 15, "MB/s", there=4.6, at_least=True)
    counted = condense.Message("user", text, tokens=counter.count(text))
    again = 1_000 * typical(lambda: condense.count_message(counted, counter))
    yield Row("… of the same message again", again, 0.01, "ms", there=433)
    pause = min(asyncio.run(_longest_pause(counter, text)) for _ in range(5))
    yield Row("… and the event loop waits meanwhile", 1_000 * pause, 50, "ms")


def _ms(started: float) -> float:
    return 1_000 * (time.perf_counter() - started)


def _read(sources: list[Path]) -> str:
    text = ""
    for path in sources:
        text += path.read_text(encoding="utf-8")
        if len(text) >= SIZE:
            break
    return text[:SIZE]


async def _longest_pause(counter: condense.TokenCounter, text: str) -> float:
    """Return the longest time in seconds that the loop was held up by a count in a thread."""
    counting = asyncio.create_task(asyncio.to_thread(counter.count, text))
    longest, last = 0.0, time.perf_counter()
    while not counting.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest
