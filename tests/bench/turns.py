"""Rows of turns: what they cost the real server, socket to socket, when many run at once."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median, quantiles

from django.conf import settings

from chatapp.agent import async_tasks
from chatapp.agent.ports import PartialReply
from chatapp.models import ModelCall, Turn
from chatapp.models.database import insert
from chatapp.storage import partial_replies
from tests.bench.clock import once
from tests.bench.conversations import make_conversation, make_owner, prepare_owner
from tests.bench.server import Server, model, open_page, printed, serving
from tests.bench.storage import LONGEST
from tests.bench.table import Row

AT_ONCE = 60
SHORT_WORDS = 12
SHORT = f"SAY {SHORT_WORDS}"
WORDS, EVERY = 400, 0.025
PACED = f"SAY {WORDS} EVERY {EVERY}"
BARE = "the bare SDK's create(stream=True)"
SEEN = 100


def measure_turns() -> Iterator[Row]:
    """Yield the rows of turns: sixty at once, and one after much or little that is stored."""
    with model() as url:
        with _serving(url) as server:
            here = asyncio.run(_stream(server, SHORT, AT_ONCE)).cpu
        least = json.loads(printed("tests.bench.bare", url, str(AT_ONCE), SHORT))
    bare = least["cpu"] * SHORT_WORDS / 1_000
    yield Row(f"one short turn, of {AT_ONCE} at once", here, "ms", 24, BARE, bare)
    with model() as url, _serving(url, DATA_DIR=str(settings.DATA_DIR)) as server:
        few, lots = asyncio.run(_talk(server, *map(_stored, (SEEN, LONGEST))))
    work_ = f"one short turn after {LONGEST:,}, {SEEN} of them visible"
    yield Row(work_, lots, "ms", 1.3, f"the same after {SEEN}", few)


def measure_streaming() -> Iterator[Row]:
    """Yield what words cost that are streamed to watching pages, beside the bare SDK."""
    with model() as url:
        for sessions, bound in ((10, 2.5), (100, 3.0)):
            with _serving(url) as server:
                here = asyncio.run(_stream(server, PACED, sessions))
            least = json.loads(printed("tests.bench.bare", url, str(sessions), PACED))
            work = f"1,000 words to {sessions} pages, 40 a second each"
            yield Row(work, 1_000 * here.cpu / WORDS, "ms", bound, BARE, least["cpu"])
            first = "… until the first word, all sent at once"
            yield Row(first, here.first, "ms", 25, BARE, least["first"])
            beat = 1_000 * max(async_tasks.SHORTEST, sessions / async_tasks.ALL_PIECES)
            late = "… until 99 of 100 later words are shown"
            # Wide, as a crowded machine delays either by chance.
            yield Row(late, here.late, "ms", 8, "a beat, and the same", beat + least["late"])
    yield Row("… memory of each", here.memory, "KiB", 350)
    yield _measure_drafts(here.cpu)


@dataclass(frozen=True, slots=True)
class Streamed:
    """What a turn of each page took: milliseconds of the processor, and KiB.

    ``first`` is the median of the milliseconds until the first word, ``late`` what all but one in
    a hundred words were delayed by at most, once all answers were on their way.
    """

    cpu: float
    memory: float
    first: float
    late: float


def _serving(url: str, **environment: str) -> AbstractContextManager[Server]:
    return serving(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="x", **environment)


async def _stream(server: Server, text: str, pages: int) -> Streamed:
    """Have a turn of many at once, each in a page of its own."""
    warm = await open_page(server, server.converse())
    await warm.say(SHORT)
    memory = server.memory
    opened = [await open_page(server, server.converse()) for _ in range(pages)]
    before = server.cpu
    await asyncio.gather(*(page.say(text) for page in opened))
    cpu = 1_000 * (server.cpu - before) / pages
    memory, delays = (
        server.memory - memory,
        [one for page in opened for one in page.delays[WORDS // 2 :]],
    )
    first, late = median(page.first for page in opened), quantiles(delays or [0, 0], n=100)[-1]
    return Streamed(cpu, memory / pages, 1_000 * first, 1_000 * late)


def _stored(stored: int) -> str:
    """Return the id of a conversation of the server's owner, over whose data this process works."""
    return str(make_conversation(*prepare_owner(), stored, visible=SEEN).pk)


async def _talk(server: Server, *conversations: str, turns: int = 20) -> list[float]:
    """Return the processor milliseconds of a short turn in each, which go on in turn."""
    pages = [await open_page(server, one) for one in conversations]
    spent = [0.0] * len(pages)
    for turn in range(turns + 1):
        for index, page in enumerate(pages):
            before = server.cpu
            await page.say(SHORT)
            # The first is there to warm up.
            spent[index] += (server.cpu - before) * bool(turn)
    return [1_000 * one / turns for one in spent]


def _measure_drafts(turn: float) -> Row:
    """Return what storing a turn's drafts takes where a hundred are written, of all it takes."""
    conversation = make_conversation(*make_owner("drafts"), 1)
    talk = Turn.objects.create(conversation=conversation)
    calls = [ModelCall(conversation=conversation, turn=talk, purpose="chat") for _ in range(100)]
    numbers = [insert(call).pk for call in calls]
    draft = PartialReply([{"type": "text", "text": "word " * (WORDS // 2)}])

    async def store() -> None:
        writer = partial_replies.PartialReplyWriter()
        for number in numbers:
            writer.keep(number, lambda: draft, turn=talk, at_once=True)
        assert writer.task
        await writer.task

    seconds = min(once(lambda: asyncio.run(store())) for _ in range(5)) / len(numbers)
    times = WORDS * EVERY / (partial_replies.WRITE_PAUSE + partial_replies.SHORTEST_PAUSE)
    here = 1_000 * times * seconds
    return Row("… drafts of a turn", here, "ms", 0.05, "all that the turn takes", turn)
