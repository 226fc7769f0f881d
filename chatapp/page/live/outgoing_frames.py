"""Outgoing frames: the server's messages to the open pages of a conversation, in their order.

Every frame has a number, its *change*. A page gets the frames after the change that it has, also
when it comes back; if these are not kept any more, it gets a snapshot.
"""

import asyncio
import itertools
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from chatapp.models.pagination import read_number

Frame = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PageProgress:
    """A page's progress: the last change that it has shown, of one epoch."""

    epoch: str
    change: int


def read_place(text: str) -> PageProgress | None:
    """Return the place that a page has sent, None if it has none."""
    epoch, _, change = text.partition(".")
    number = read_number(change) if change.isascii() else None
    return None if number is None else PageProgress(epoch, number)


def snapshot(
    place: PageProgress,
    *,
    revision: int,
    turn: str,
    status: str,
    waits: bool = False,
    articles: Sequence[tuple[str, str]],
    streamed: Sequence[Frame] = (),
    panel: Frame,
    queue: str = "",
) -> Frame:
    """Everything a page needs to show the present: sent first to one that has nothing of it.

    ``articles`` are (element id, HTML) of the messages in flight; ``panel`` and each of
    ``streamed`` are frames of their own. ``turn`` is the id of the one that runs, if any, and
    ``waits`` is True if it does so for a person; ``queue`` shows the messages that wait. A page
    whose transcript has another ``revision`` fetches it again.
    """
    return {
        "type": "snapshot",
        "epoch": place.epoch,
        "upto": place.change,
        "revision": revision,
        "turn": turn,
        "status": status,
        "waits": waits,
        "articles": [{"id": id_, "html": html} for id_, html in articles],
        "streamed": list(streamed),
        "panel": panel,
        "queue": queue,
    }


def resumed(place: PageProgress) -> Frame:
    """Confirm to a page that it lacks only the frames that follow, up to ``place``."""
    return {"type": "resumed", "epoch": place.epoch, "upto": place.change}


def pong(change: int) -> Frame:
    """Answer a ping with the number of the last change."""
    return {"type": "pong", "upto": change}


def article_upserted(id_: str, html: str) -> Frame:
    """Replace the element ``id_``, or append it to the transcript, unless it is a tool's card.

    A part of the reply that is being written is appended to it, and keeps the text it has.
    """
    return {"type": "article.upserted", "id": id_, "html": html}


def article_removed(id_: str) -> Frame:
    """Remove the element ``id_`` if it is there."""
    return {"type": "article.removed", "id": id_}


def text_streamed(id_: str, *, index: int, closed: Sequence[str], open_: str) -> Frame:
    """Show streamed markdown: blocks from ``index`` on are final, ``open_`` is being written."""
    return {"type": "text.streamed", "id": id_, "index": index, "closed": [*closed], "open": open_}


def code_streamed(id_: str, *, index: int, at: int, text: str) -> Frame:
    """Put ``text`` at ``at`` (UTF-16 units) into the open code block ``index``; nothing follows it.

    A page in which this block is closed, or does not reach so far, has newer news, and ignores it.
    """
    return {"type": "code.streamed", "id": id_, "index": index, "at": at, "text": text}


def transcript_changed(revision: int | None) -> Frame:
    """Ask the page to fetch its transcript again, unless it has this revision."""
    return {"type": "transcript.changed", "revision": revision}


def panel(
    *,
    bar: str,
    due: str,
    condensing: str,
    written: str,
    draft: str = "",
    notice: str,
    now: float,
    profile: int | None = None,
) -> Frame:
    """Replace the context panel: bar, next condensation, running condensation, and notice.

    A page that shows another ``profile`` as the chosen one fetches the choice again. ``written`` is
    the progress of the summary, and ``draft`` its text if somebody is to review it. Moments in the
    HTML are Unix seconds of the server's clock, which shows ``now``: so the status of a
    condensation that goes on is the same HTML, and stays in its place.
    """
    return {
        "type": "panel.changed",
        "bar": bar,
        "due": due,
        "condensing": condensing,
        "written": written,
        "draft": draft,
        "notice": notice,
        "now": now,
        "profile": str(profile or ""),
    }


def queue_changed(html: str) -> Frame:
    """Replace the messages that wait above the composer."""
    return {"type": "queue.changed", "html": html}


def condensing_progressed(written: str) -> Frame:
    """Show the summary's progress in the condensing status."""
    return {"type": "condensing.progressed", "written": written}


def draft_streamed(draft: str) -> Frame:
    """Show the text so far of a summary that somebody is to review."""
    return {"type": "draft.streamed", "draft": draft}


def status_changed(text: str, *, turn: str, waits: bool = False) -> Frame:
    """Announce the status, the ``turn`` to stop ("" for none), and if it ``waits`` for a person."""
    return {"type": "status.changed", "text": text, "turn": turn, "waits": waits}


def tool_progressed(seq: int, call: str, output: str) -> Frame:
    """Show the end of a call's output on its card, in message ``seq``."""
    return {"type": "tool.progressed", "card": f"tool-{seq}-{call}", "output": output}


def title_changed() -> Frame:
    """Ask the page to fetch the conversation's title again."""
    return {"type": "title.changed"}


def list_changed() -> Frame:
    """Ask the page to fetch the list of conversations again, unless somebody searches in it."""
    return {"type": "list.changed"}


def message_accepted(nonce: uuid.UUID) -> Frame:
    """Confirm to the sender that its message is stored, so that the composer is emptied."""
    return {"type": "message.accepted", "nonce": str(nonce)}


def noted(text: str) -> Frame:
    """Show the sender a note about an accepted text; it needs no answer."""
    return {"type": "noted", "text": text}


def refused(reason: str, *, nonce: uuid.UUID | None = None, unclear: bool = False) -> Frame:
    """Give the sender the reason; an ``unclear`` text may be sent again as a literal one."""
    told = str(nonce) if nonce else None
    return {"type": "refused", "reason": reason, "nonce": told, "unclear": unclear}


# Bytes of one message to the browser; servers and proxies cut the line at a megabyte or more.
LARGEST_FRAME = 900_000

# Characters of HTML in one part of a message that has to be parted; a character is 4 bytes at most.
LARGEST_PART = 200_000

# The beginnings of ids of rows whose messages are stored, and of their cards.
STORED = ("message-", "tool-")


def encode(frame: Frame, change: int | None = None) -> list[str]:
    """Return the frame as texts of WebSocket messages, none of them larger than LARGEST_FRAME.

    If it does not fit it becomes several, or word to fetch the stored state from the server. They
    are numbered from ``change`` on, if that is given.
    """
    numbered = {} if change is None else {"change": change}
    text = orjson.dumps(frame | numbered)
    if len(text) <= LARGEST_FRAME:
        return [text.decode()]
    parts = [*_smaller(frame)]
    if change is not None:
        parts = [part | {"change": change + place} for place, part in enumerate(parts)]
    return [orjson.dumps(part).decode() for part in parts]


def _smaller(frame: Frame) -> Iterator[Frame]:
    match frame:
        case {"type": "snapshot"}:
            yield {**frame, "revision": None, "articles": [], "streamed": []}
            for streamed in frame["streamed"]:
                yield from _in_parts(streamed)
        case {"type": "text.streamed"}:
            yield from _in_parts(frame)
        case {"type": "article.upserted", "id": str(id_)} if not id_.startswith(STORED):
            # Only this frame has a message that was not saved.
            yield frame
        case _:
            yield transcript_changed(None)


def _in_parts(frame: Frame) -> Iterator[Frame]:
    """Yield streamed blocks a few at a time; one that is too large comes with the stored row."""
    id_, index, size = frame["id"], frame["index"], 0
    part: list[str] = []
    for html in map(_short, (*frame["closed"], frame["open"])):
        size += len(html)
        if part and size > LARGEST_PART:
            yield text_streamed(id_, index=index, closed=part, open_="")
            index, size, part = index + len(part), len(html), []
        part.append(html)
    yield text_streamed(id_, index=index, closed=part[:-1], open_=part[-1])


def _short(html: str) -> str:
    return html if len(html) <= LARGEST_PART else "<p>…</p>"


# Frames and characters that are kept for pages that are behind or come back; a fast reply makes
# some 15 frames a second.
BACKLOG = 500
BACKLOG_CHARS = 2_000_000

# Seconds for which the frames go on after the last page left: it may come back.
LINGER = 15.0


class Watchers:
    """The watchers of one conversation in one language; true while frames are worth making."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without watchers; ``clock`` returns seconds."""
        self._clock = clock
        # For each watcher, an event that is set if there are frames for it.
        self._watching: set[asyncio.Event] = set()
        self._awaited_until = 0.0
        self._begin()

    def _begin(self) -> None:
        """Begin a new epoch: frames that nobody saw have no number."""
        self._epoch, self.change = uuid.uuid4().hex, 0
        self._recent: deque[str] = deque()
        self._kept = 0

    @property
    def count(self) -> int:
        """Return the number of watchers."""
        return len(self._watching)

    def __bool__(self) -> bool:
        """Return True while there are watchers, or one that left may soon be back."""
        return bool(self._watching) or self._clock() < self._awaited_until

    def send(self, frame: Frame) -> None:
        """Hand a frame to every watcher."""
        if not self:
            return
        for text in encode(frame, self.change + 1):
            self.change += 1
            self._recent.append(text)
            self._kept += len(text)
            while self._kept > BACKLOG_CHARS or len(self._recent) > BACKLOG:
                self._kept -= len(self._recent.popleft())
        for news in self._watching:
            news.set()

    def dismiss(self) -> None:
        """Drop every watcher; those that may still watch reconnect."""
        dismissed, self._watching = self._watching, set()
        for news in dismissed:
            news.set()

    async def watch(
        self,
        snapshot: Callable[[PageProgress], Awaitable[Frame]],
        since: PageProgress | None = None,
    ) -> AsyncGenerator[str]:
        """Yield the frames after ``since`` or a snapshot, then all later frames.

        Ends when the watcher is dropped, or too far behind; it should come back.
        """
        if not self:
            self._begin()
        here, news = PageProgress(self._epoch, self.change), asyncio.Event()
        back = since if since and self._after(since) is not None else None
        self._watching.add(news)
        try:
            begin = resumed(here) if back else await snapshot(here)
            for text in encode(begin):
                yield text
            here = back or here
            while news in self._watching and (missed := self._after(here)) is not None:
                news.clear()
                for text in missed:
                    yield text
                here = PageProgress(here.epoch, here.change + len(missed))
                if here.change == self.change:
                    await news.wait()
        finally:
            if news in self._watching:
                self._watching.discard(news)
                self._awaited_until = self._clock() + LINGER

    def _after(self, place: PageProgress) -> Sequence[str] | None:
        """Return the frames after a place, None if some are no longer kept."""
        count = self.change - place.change
        if place.epoch != self._epoch or not 0 <= count <= len(self._recent):
            return None
        return list(itertools.islice(self._recent, len(self._recent) - count, None))
