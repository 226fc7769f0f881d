"""Rows of drafts: how long a person waits for a condensation drafted in the background."""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from chatapp.conversations import conversations
from chatapp.models import Condensation, Conversation, accounts
from tests.bench.long import LONG, preferring
from tests.bench.server import Page, Server, open_page, serving
from tests.bench.table import Row
from tests.chatapp.claude import answered_by
from tests.standin.behaviours import Behaviour, Gate, Reply
from tests.standin.server import Standin

# What a summary takes to be written.
SECONDS = 20
# Condensing begins at 24,000 tokens, a draft at 19,200, and 40,000 fit.
WINDOW, ROOMY = 48_000, 480_000
# 500 tokens; one such message is sent every second.
SHORT = " ".join(map(str, range(100, 350)))
TIMES = 2
PLAIN = "the same, nothing to condense"


@dataclass(repr=False)
class Slow(Standin):
    """A stand-in that takes its time to summarise, and knows when it was asked for an answer."""

    asked: list[float] = field(default_factory=list, init=False)

    def next(self, body: Mapping[str, Any]) -> Behaviour:
        """Return what a stand-in does; a summary waits before it begins."""
        does = super().next(body)
        if not (isinstance(does, Reply) and "<summary>" in does.text):
            self.asked.append(time.monotonic())
            return does
        gate = Gate()
        threading.Timer(SECONDS, gate.open).start()
        return replace(does, hold=gate)


def measure_drafts() -> Iterator[Row]:
    """Yield what lies between a message and its request while a draft is written, and after it."""
    with serving(DATA_DIR=str(settings.DATA_DIR)) as server, Slow(window=ROOMY) as standin:
        owner = accounts.prepare_owner()
        narrow, roomy = (_make(owner, standin.url, window) for window in (WINDOW, ROOMY))
        with preferring(owner, threshold=50, draft_ahead="always"):
            waits = asyncio.run(Talk(server, standin, narrow, roomy).go_on())
    least = 1_000 * median(waits["plain"])
    work = f"from message to request, while {SECONDS} s of summary are written"
    yield Row(work, 1_000 * median(waits["meanwhile"]), "ms", 4, PLAIN, least)
    work = "… where that is swapped in"
    yield Row(work, 1_000 * min(waits["swapped"]), "ms", 8, PLAIN, least)


def _make(owner: User, url: str, window: int) -> Conversation:
    """Return a conversation in such a window."""
    profile = answered_by(owner, "anthropic", "claude-opus-5", url, context_window=window)
    return conversations.start_conversation(owner=owner, profile=profile, title="Drafts")


class Talk:
    """Two conversations in which the same is said: one condenses, the other has room for all."""

    def __init__(
        self, server: Server, standin: Slow, narrow: Conversation, roomy: Conversation
    ) -> None:
        """Take the server, who answers, and both."""
        self.server, self.standin = server, standin
        self.narrow, self.roomy = narrow, roomy
        self.waits: dict[str, list[float]] = {"plain": [], "meanwhile": [], "swapped": []}

    async def go_on(self) -> dict[str, list[float]]:
        """Talk until drafts were swapped in; return the seconds each message took."""
        here = await open_page(self.server, str(self.narrow.pk))
        there = await open_page(self.server, str(self.roomy.pk))
        while len(self.waits["swapped"]) < TIMES:
            await self._say(here, there)
        for page in (here, there):
            await page.socket.close()
        return self.waits

    async def _say(self, here: Page, there: Page) -> None:
        """Say the same in both: something long until a draft is begun, then something short."""
        drafting, made = await self._count("running", "drafted"), await self._count("succeeded")
        text = SHORT if drafting else LONG
        wait = await self._ask(here, text)
        swapped = await self._count("succeeded") > made
        if swapped or drafting:
            self.waits["swapped" if swapped else "meanwhile"].append(wait)
            self.waits["plain"].append(await self._ask(there, text))
            await asyncio.sleep(1)

    async def _ask(self, page: Page, text: str) -> float:
        """Return the seconds from a message to the request for its answer."""
        asked = len(self.standin.asked)
        await page.say(text)
        return self.standin.asked[asked] - page.sent

    async def _count(self, *status: str) -> int:
        attempts = Condensation.objects.filter(conversation=self.narrow, status__in=status)
        return await attempts.acount()
