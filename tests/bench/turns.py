"""What turns cost the real server, socket to socket, when many run at once."""

import asyncio
from collections.abc import Iterator

from tests.bench.conversations import make_conversation, make_owner
from tests.bench.server import Server, model, open_page, printed, serving
from tests.bench.storage import append
from tests.bench.table import Row
from tests.bench.timing import many, once

AT_ONCE = 60
SHORT = "SAY 12"
WORDS = 400
PACED = f"SAY {WORDS} EVERY 0.025"


def measure_turns() -> Iterator[Row]:
    """Yield the rows of turns, each beside an append that is measured before and after it."""
    conversation = make_conversation(*make_owner("turns"), 100)
    work = many(lambda: append(conversation), 100)
    appends = [once(work)]
    with model() as url, serving(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="x") as server:
        here = 1_000 * asyncio.run(_turns(server, SHORT, AT_ONCE))
    appends.append(once(work))
    bare = 10 * sum(appends) / len(appends)
    yield Row(f"one short turn, of {AT_ONCE} at once", here, "ms", 26, "an append, as above", bare)


def measure_streaming() -> Iterator[Row]:
    """Yield what words cost that are streamed to watching pages, beside the bare SDK."""
    with model() as url:
        for sessions, bound in ((10, 3.5), (100, 3.0)):
            with serving(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="x") as server:
                seconds = asyncio.run(_turns(server, PACED, sessions))
            here = 1e6 * seconds / WORDS
            least = float(printed("tests.bench.bare", url, str(sessions), PACED))
            work = f"1,000 words to {sessions} pages, 40 a second each"
            yield Row(work, here, "ms", bound, "the bare SDK's create(stream=True)", least)


async def _turns(server: Server, text: str, pages: int) -> float:
    """Return the processor seconds of a turn of many at once, each in a page of its own."""
    warm = await open_page(server, server.converse())
    await warm.say(SHORT)
    opened = [await open_page(server, server.converse()) for _ in range(pages)]
    before = server.cpu
    await asyncio.gather(*(page.say(text) for page in opened))
    return (server.cpu - before) / pages
