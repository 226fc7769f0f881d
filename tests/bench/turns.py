"""What a short turn costs the real server, socket to socket, when many begin at once."""

import asyncio
from collections.abc import Iterator

from tests.bench.conversations import make_conversation, make_owner
from tests.bench.server import Server, model, open_page, serving
from tests.bench.storage import append
from tests.bench.table import Row
from tests.bench.timing import many, once

AT_ONCE = 60
SHORT = "SAY 12"


def measure_turns() -> Iterator[Row]:
    """Yield the rows of turns, each beside an append that is measured before and after it."""
    conversation = make_conversation(*make_owner("turns"), 100)
    work = many(lambda: append(conversation), 100)
    appends = [once(work)]
    with model() as url, serving(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="x") as server:
        here = 1_000 * asyncio.run(_short_turns(server))
    appends.append(once(work))
    bare = 10 * sum(appends) / len(appends)
    yield Row(f"one short turn, of {AT_ONCE} at once", here, "ms", 26, "an append, as above", bare)


async def _short_turns(server: Server) -> float:
    """Return the processor seconds of a turn of many, each in a page of its own."""
    warm = await open_page(server, server.converse())
    await warm.say(SHORT)
    pages = [await open_page(server, server.converse()) for _ in range(AT_ONCE)]
    before = server.cpu
    await asyncio.gather(*(page.say(SHORT) for page in pages))
    return (server.cpu - before) / AT_ONCE
