"""Watchers: the open pages of a conversation, and the frames that were sent last.

Every frame has a number, its *change*. A page gets what is newer than the change that it has, also
one that comes back; where that is not kept any more, it gets a snapshot.
"""

import asyncio
import itertools
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from chatapp.live import outgoing_frames
from chatapp.live.outgoing_frames import Place
from chatapp.number_formats import reader_locale

# Frames and characters that are kept for pages that are behind or come back; a fast reply makes
# some 15 frames a second.
BACKLOG = 500
KEPT = 2_000_000

# Seconds for which the frames go on after the last page left: it may come back.
LINGER = 15.0


class Watchers:
    """All watchers of one conversation; true while frames are worth making."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with nobody; ``clock`` tells the seconds."""
        self._clock = clock
        # For each that is there, whether there is news for it.
        self._watching: set[asyncio.Event] = set()
        self._awaited_until = 0.0
        # Frames are made once for all: with numbers as the page writes them that came last.
        self.locale = reader_locale.get()
        self._begin()

    def _begin(self) -> None:
        """Count anew: what was not shown to anybody has no number."""
        self._epoch, self.change = uuid.uuid4().hex, 0
        self._recent: deque[str] = deque()
        self._kept = 0

    @property
    def count(self) -> int:
        """How many watch."""
        return len(self._watching)

    def __bool__(self) -> bool:
        """Whether anybody watches or may soon come back: nothing need be rendered for nobody."""
        return bool(self._watching) or self._clock() < self._awaited_until

    def send(self, frame: outgoing_frames.Frame) -> None:
        """Hand a frame to every watcher."""
        if not self:
            return
        for text in outgoing_frames.encode(frame, self.change + 1):
            self.change += 1
            self._recent.append(text)
            self._kept += len(text)
            while self._kept > KEPT or len(self._recent) > BACKLOG:
                self._kept -= len(self._recent.popleft())
        for news in self._watching:
            news.set()

    def dismiss(self) -> None:
        """Drop every watcher: whoever still may watch comes back."""
        dismissed, self._watching = self._watching, set()
        for news in dismissed:
            news.set()

    async def watch(
        self,
        snapshot: Callable[[Place], Awaitable[outgoing_frames.Frame]],
        since: Place | None = None,
    ) -> AsyncGenerator[str]:
        """Yield what brings a page up to date that has everything up to ``since``, then all frames.

        Ends when the watcher is dropped, or too far behind; it should come back.
        """
        if not self:
            self._begin()
        self.locale = reader_locale.get()
        here, news = Place(self._epoch, self.change), asyncio.Event()
        back = since if since and self._after(since) is not None else None
        self._watching.add(news)
        try:
            begin = outgoing_frames.resumed(here) if back else await snapshot(here)
            for text in outgoing_frames.encode(begin):
                yield text
            here = back or here
            while news in self._watching and (missed := self._after(here)) is not None:
                news.clear()
                for text in missed:
                    yield text
                here = Place(here.epoch, here.change + len(missed))
                if here.change == self.change:
                    await news.wait()
        finally:
            if news in self._watching:
                self._watching.discard(news)
                self._awaited_until = self._clock() + LINGER

    def _after(self, place: Place) -> Sequence[str] | None:
        """Return what was sent after a place, None where not all of it is kept."""
        count = self.change - place.change
        if place.epoch != self._epoch or not 0 <= count <= len(self._recent):
            return None
        return list(itertools.islice(self._recent, len(self._recent) - count, None))
