"""What a short turn costs the real server, socket to socket, when many begin at once."""

import asyncio
from collections.abc import Iterator

from tests.bench.server import Server, model, open_page, serving
from tests.bench.table import Row

AT_ONCE = 60
SHORT = "SAY 12"


def measure_turns() -> Iterator[Row]:
    """Yield the rows of turns."""
    with model() as url, serving(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="x") as server:
        seconds = asyncio.run(_short_turns(server))
    yield Row(f"one short turn, CPU, of {AT_ONCE} at once", 1_000 * seconds, 60, "ms")


async def _short_turns(server: Server) -> float:
    """Return the processor seconds of a turn of many, each in a page of its own."""
    warm = await open_page(server, server.converse())
    await warm.say(SHORT)
    pages = [await open_page(server, server.converse()) for _ in range(AT_ONCE)]
    before = server.cpu
    await asyncio.gather(*(page.say(SHORT) for page in pages))
    return (server.cpu - before) / AT_ONCE
