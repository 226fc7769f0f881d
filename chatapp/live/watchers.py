"""Who watches a conversation: a queue of frames for each open page, and the frames just sent.

Every frame has a number, its *change*. A page that comes back says which it had last, and gets what
is newer, or a snapshot where that is not kept any more.
"""

import asyncio
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from chatapp.live import fitting, frames
from chatapp.live.frames import Place

# Frames a watcher may be behind before it is dropped; a fast reply makes some 20 a second.
BACKLOG = 500

# Characters of frames that are kept for pages which come back.
KEPT = 1_000_000

# Seconds for which the frames go on after the last page left: it may come back.
LINGER = 15.0

Queue = asyncio.Queue[str | None]


class Watchers:
    """All watchers of one conversation; true while frames are worth making."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with nobody; ``clock`` tells the seconds."""
        self._clock = clock
        self._queues: set[Queue] = set()
        self._awaited_until = 0.0
        self._begin()

    def _begin(self) -> None:
        """Count anew: what was not shown to anybody has no number."""
        self._epoch, self.change = uuid.uuid4().hex, 0
        self._recent: deque[str] = deque()
        self._kept = 0

    @property
    def present(self) -> bool:
        """Whether anybody watches."""
        return bool(self._queues)

    @property
    def count(self) -> int:
        """How many watch."""
        return len(self._queues)

    def __bool__(self) -> bool:
        """Whether anybody watches or may soon come back: nothing need be rendered for nobody."""
        return self.present or self._clock() < self._awaited_until

    def send(self, frame: frames.Frame) -> None:
        """Hand a frame to every watcher; one that fell behind is dropped, and told so."""
        if not self:
            return
        for part in fitting.parts(frame):
            self.change += 1
            text = frames.encode({**part, "change": self.change})
            self._keep(text)
            for queue in list(self._queues):
                if queue.qsize() < BACKLOG:
                    queue.put_nowait(text)
                else:
                    self._drop(queue)

    def _keep(self, text: str) -> None:
        self._recent.append(text)
        self._kept += len(text)
        while self._kept > KEPT or len(self._recent) > BACKLOG:
            self._kept -= len(self._recent.popleft())

    def dismiss(self) -> None:
        """Drop every watcher: whoever still may watch comes back."""
        for queue in list(self._queues):
            self._drop(queue)

    def _drop(self, queue: Queue) -> None:
        self._queues.discard(queue)
        queue.put_nowait(None)

    async def watch(
        self,
        snapshot: Callable[[Place], Awaitable[Sequence[frames.Frame]]],
        since: Place | None = None,
    ) -> AsyncGenerator[str]:
        """Yield what brings a page up to date that has everything up to ``since``, then all frames.

        Ends when the watcher is dropped; it should come back.
        """
        if not self:
            self._begin()
        here, missed = Place(self._epoch, self.change), self._after(since)
        queue: Queue = asyncio.Queue()
        self._queues.add(queue)
        try:
            if missed is None:
                for frame in await snapshot(here):
                    for part in fitting.parts(frame):
                        yield frames.encode(part)
            else:
                yield frames.encode(frames.resumed(here))
                for text in missed:
                    yield text
            while (sent := await queue.get()) is not None:
                yield sent
        finally:
            if queue in self._queues:
                self._queues.discard(queue)
                self._awaited_until = self._clock() + LINGER

    def _after(self, since: Place | None) -> Sequence[str] | None:
        """Return what was sent after ``since``, None where not all of it is kept."""
        if since is None or since.epoch != self._epoch:
            return None
        count = self.change - since.change
        if not 0 <= count <= len(self._recent):
            return None
        return list(self._recent)[len(self._recent) - count :]
