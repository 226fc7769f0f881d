"""How soon a conversation's page can be used, as far as the server has a part in it."""

import asyncio
import time
from collections.abc import Iterator

from django.conf import settings

from chatapp import services
from tests.bench.conversations import make_conversation
from tests.bench.server import Server, open_page, serving
from tests.bench.table import Row
from tests.bench.timing import beside

STORED, SEEN = 1_000, 100
# 300 ms where the smallest answer takes 5.
AT_MOST = 60


def measure_pages() -> Iterator[Row]:
    """Yield the row of opening a page, beside the server's smallest answer."""
    with serving(DATA_DIR=str(settings.DATA_DIR)) as server:
        owner = services.prepare_owner()
        profile = services.preferences_of(owner).default_profile
        assert profile
        conversation = str(make_conversation(owner, profile, STORED, visible=SEEN).pk)

        def show() -> None:
            server.ask("GET", f"/c/{conversation}/")
            asyncio.run(_connect(server, conversation))

        def answer() -> None:
            server.ask("GET", "/healthz")

        show()
        here, least = beside(show, answer, times=20, clock=time.perf_counter)
    work = f"open one of {STORED:,} messages, until the page is up to date"
    yield Row(work, here, "ms", AT_MOST, "GET /healthz", least)


async def _connect(server: Server, conversation: str) -> None:
    page = await open_page(server, conversation)
    await page.socket.close()
