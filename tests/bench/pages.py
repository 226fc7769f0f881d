"""Rows of pages: how soon they can be used, as far as the server has a part in it."""

import asyncio
from collections.abc import Iterator

from django.conf import settings

from chatapp.models import Condensation
from tests.bench.clock import Work, beside, many
from tests.bench.conversations import make_conversation, prepare_owner
from tests.bench.long import CONDENSATIONS, TURNS, make_long
from tests.bench.server import Server, open_page, serving
from tests.bench.table import Row

STORED, SEEN = 1_000, 100
# 300 ms where the smallest answer takes 5.
AT_MOST = 60
# The pages of a long conversation, each with some twice what it takes: 300 times the smallest
# answer is a second.
OPENED = (
    (f"open an imported one of {TURNS} turns, condensed here {CONDENSATIONS} times", "", 60),
    ("… what the model sees", "inspector/", 40),
    ("… a condensation", "condensations/{condensation}/", 30),
    ("… its whole record as JSON", "export/", 100),
    ("… a copy as HTML", "export/html/", 160),
)
# So many of the smallest answers are measured at once.
LEAST = 50
COMPARING = {"strategies": ("clear", "ledger", "sliding_window"), "thresholds": "60, 100"}


def measure_pages() -> Iterator[Row]:
    """Yield the rows of opening pages, beside the server's smallest answer."""
    with serving(DATA_DIR=str(settings.DATA_DIR)) as server:
        owner, profile = prepare_owner()
        conversation = str(make_conversation(owner, profile, STORED, visible=SEEN).pk)
        work = f"open one of {STORED:,} messages, until the page is up to date"
        yield _beside_least(server, work, lambda: _show(server, conversation), AT_MOST)
        yield from _measure_long(server)


def _measure_long(server: Server) -> Iterator[Row]:
    """Yield the rows of the pages of an imported conversation that went on here."""
    conversation = make_long(server)
    made = Condensation.objects.filter(
        conversation=conversation, status="succeeded", calls__isnull=False
    )
    newest, base = made.latest("started_at"), f"/c/{conversation.pk}/"
    for work, page, bound in OPENED:

        def show(path: str = base + page.format(condensation=newest.pk)) -> None:
            assert server.ask("GET", path).status == 200, path

        yield _beside_least(server, work, show, bound)

    def compare() -> None:
        token = server.jar["csrftoken"]
        answer = server.ask("POST", f"{base}what-if/", csrfmiddlewaretoken=token, **COMPARING)
        assert answer.status == 200

    yield _beside_least(server, "… what-if, six trials of all its turns", compare, 400, times=1)


def _beside_least(server: Server, work: str, show: Work, bound: float, times: int = 10) -> Row:
    """Return the row of a page that is asked for so many times in a row, as one time is short."""

    def answer() -> None:
        server.ask("GET", "/healthz")

    show()
    pages, answers = many(show, times), many(answer, LEAST)
    here, least = beside(pages, answers, times=3, clock=lambda: server.spent)
    return Row(work, here / times, "ms", bound, "GET /healthz", least / LEAST)


def _show(server: Server, conversation: str) -> None:
    """Open a conversation, until its socket has brought the page up to date."""
    server.ask("GET", f"/c/{conversation}/")
    asyncio.run(_connect(server, conversation))


async def _connect(server: Server, conversation: str) -> None:
    page = await open_page(server, conversation)
    await page.socket.close()
