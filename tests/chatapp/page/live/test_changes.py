"""Whoever comes and goes, a page that returns has every frame once, in order, or begins anew."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp.models import Conversation
from chatapp.page.live import outgoing_frames
from chatapp.page.live.outgoing_frames import BACKLOG, BACKLOG_CHARS, PageProgress, Watchers
from tests.chatapp.observers import Clock
from tests.chatapp.sockets import PATIENCE, Page

# Takes ten seconds at least to be streamed, so that it still is when it is stopped.
LONG = "Write 20,000 words about condensing."

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 40)),
        st.tuples(st.just("open"), st.integers(0, 2)),
        st.tuples(st.just("leave"), st.integers(0, 2)),
        st.tuples(st.just("wait"), st.sampled_from([1, 20])),
    ),
    max_size=30,
)


@dataclass
class Reader:
    """A page: what it shows is the number of the last frame that was sent."""

    place: PageProgress | None = None
    shown: int = 0
    line: AsyncIterator[str] | None = None
    begun: list[str] = field(default_factory=list)

    async def read(self, sent: int) -> None:
        """Take all that has come, and check that nothing is missing."""
        while self.line and self.shown < sent:
            self.take(json.loads(await anext(self.line)))
        assert self.shown == sent or self.line is None

    def take(self, frame: dict[str, Any]) -> None:
        """Show a frame as a page does."""
        match frame:
            case {"type": "snapshot", "epoch": epoch, "upto": upto, "status": shown}:
                self.place, self.shown = PageProgress(epoch, upto), int(shown)
            case {"type": "resumed", "epoch": epoch}:
                assert self.place
                assert epoch == self.place.epoch
            case {"change": change, "text": text}:
                assert self.place
                assert change == self.place.change + 1
                assert int(text) >= self.shown
                self.place, self.shown = PageProgress(self.place.epoch, change), int(text)
        self.begun.append(frame["type"])


@dataclass
class Street:
    """A conversation with three pages that come and go."""

    clock: Clock = field(default_factory=Clock)
    sent: int = 0

    def __post_init__(self) -> None:
        """Begin with nobody."""
        self.watchers = Watchers(self.clock)
        self.readers = [Reader(), Reader(), Reader()]

    async def do(self, step: tuple[str, int]) -> None:
        """Take one step."""
        name, number = step
        await getattr(self, name)(number)
        for reader in self.readers:
            await reader.read(self.sent)

    async def send(self, count: int) -> None:
        for _ in range(count):
            self.sent += 1
            self.watchers.send(outgoing_frames.status_changed(str(self.sent), turn=""))
            for reader in self.readers:
                await reader.read(self.sent)

    async def open(self, which: int) -> None:
        reader = self.readers[which]
        if reader.line is None:
            reader.line = self.watchers.watch(self.snapshot, reader.place)
            reader.take(json.loads(await anext(reader.line)))

    async def leave(self, which: int) -> None:
        reader = self.readers[which]
        if reader.line is not None:
            await reader.line.aclose()  # type: ignore[attr-defined]
            reader.line = None

    async def wait(self, seconds: int) -> None:
        self.clock.now += seconds

    async def snapshot(self, place: PageProgress) -> outgoing_frames.Frame:
        """Return what a page begins with: all that was sent."""
        return outgoing_frames.snapshot(
            place, revision=1, turn="", status=str(self.sent), articles=(), panel={}
        )


@given(STEPS)
@settings(deadline=None)
def test_a_page_that_returns_misses_nothing(steps: list[tuple[str, int]]) -> None:
    """However often, however late, whatever was sent meanwhile, and to whom."""

    async def walk() -> None:
        street = Street()
        for step in steps:
            await street.do(step)
        for which in range(3):
            await street.do(("leave", which))

    asyncio.run(walk())


async def test_a_page_that_returns_soon_gets_only_what_is_new() -> None:
    """And one that returns late, or with a word that this server never gave, begins anew."""
    street = Street()
    for step in (("open", 0), ("send", 3), ("leave", 0), ("wait", 1), ("send", 2), ("open", 0)):
        await street.do(step)
    assert street.readers[0].begun == [
        "snapshot", *["status.changed"] * 3, "resumed", *["status.changed"] * 2,
    ]  # fmt: skip
    for step in (("leave", 0), ("wait", 20), ("send", 1), ("open", 0)):
        await street.do(step)
    assert street.readers[0].begun[-1] == "snapshot"
    street.readers[1].place = PageProgress("elsewhere", 1)
    await street.do(("open", 1))
    assert street.readers[1].begun == ["snapshot"]
    here = street.readers[1].place
    ahead = street.watchers.watch(street.snapshot, PageProgress(here.epoch, here.change + 1))
    assert json.loads(await anext(ahead))["type"] == "snapshot"


async def test_what_is_kept_for_pages_that_return_has_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who missed more gets a snapshot."""
    monkeypatch.setattr(outgoing_frames, "BACKLOG_CHARS", 500)
    street = Street()
    for step in (("open", 0), ("open", 1), ("leave", 0), ("send", 20), ("open", 0)):
        await street.do(step)
    assert street.readers[0].begun == ["snapshot", "snapshot"]


def test_nothing_is_kept_for_nobody() -> None:
    """Nor numbered: whoever comes begins anew."""
    alone = Watchers()
    alone.send(outgoing_frames.transcript_changed(1))
    assert alone.change == 0


async def nothing_yet(_place: PageProgress) -> outgoing_frames.Frame:
    """Return a snapshot of one frame."""
    return outgoing_frames.status_changed("", turn="")


@pytest.mark.parametrize("sent", [["x"] * (BACKLOG + 1), ["x" * (BACKLOG_CHARS // 9)] * 9])
async def test_a_watcher_that_falls_too_far_behind_is_told_to_come_back(sent: list[str]) -> None:
    """By the number of frames, and by their size; one that is not, gets all."""
    watchers = Watchers()
    behind, fast = watchers.watch(nothing_yet), watchers.watch(nothing_yet)
    await anext(behind)
    await anext(fast)
    async with asyncio.timeout(PATIENCE):
        for text in sent:
            watchers.send(outgoing_frames.draft_streamed(text))
            assert json.loads(await anext(fast))["draft"] == text
        assert [text async for text in behind] == []


async def test_what_is_behind_a_dismissal_is_not_sent_any_more() -> None:
    """Whoever still may watch comes back for it."""
    watchers = Watchers()
    heard = watchers.watch(nothing_yet)
    await anext(heard)
    watchers.send(outgoing_frames.list_changed())
    watchers.dismiss()
    assert not watchers
    async with asyncio.timeout(PATIENCE):
        assert [text async for text in heard] == []


@pytest.mark.parametrize("text", ["", "a", "a.", "a.b", "a.-1", "a.1.5", "a.٣", "a." + "9" * 30])
def test_a_place_that_makes_no_sense_is_none(text: str) -> None:
    """The page gets a snapshot."""
    assert outgoing_frames.read_place(text) is None


@pytest.mark.django_db(transaction=True)
async def test_a_ping_is_answered_with_the_last_number(page: Page) -> None:
    """So that a page knows that the line is alive, and whether it missed the end."""
    await page.ask("Hi")
    await page.send("ping")
    pong = await page.until("pong")
    assert pong["upto"] == max(frame.get("change", 0) for frame in page.frames)


@pytest.mark.django_db(transaction=True)
async def test_a_stop_that_comes_late_stops_nothing_else(page: Page) -> None:
    """It names the turn it meant."""
    await page.ask("Hi")
    old = next(frame["turn"] for frame in page.frames if frame.get("turn"))
    await page.say("And again")
    await page.send("turn.stop", turn=old)
    await page.send("turn.stop", turn=str(uuid.uuid4()))
    assert (await page.until_idle())["text"] == "Done."


@pytest.mark.django_db(transaction=True)
async def test_what_was_just_sent_can_be_stopped_by_its_nonce(page: Page) -> None:
    """Whoever sent it knows no other name of it until the first frame comes."""
    nonce = str(uuid.uuid4())
    await page.send("message.send", text=LONG, nonce=nonce)
    await page.send("turn.stop", turn=nonce)
    assert (await page.until_idle())["text"] == "Stopped."


@pytest.mark.django_db(transaction=True)
async def test_a_condensation_that_is_asked_for_twice_is_made_once(
    conversation: Conversation, page: Page
) -> None:
    """As a message is, by its nonce; each time the page learns that it was taken."""
    await page.ask("Hi")
    nonce = str(uuid.uuid4())
    for _ in range(3):
        await page.send("condense.start", nonce=nonce)
        await page.until("message.accepted", nonce=nonce)
    await page.until_idle()
    await page.send("condense.start", nonce=nonce)
    await page.until("message.accepted", nonce=nonce)
    assert await conversation.condensations.acount() == 1
