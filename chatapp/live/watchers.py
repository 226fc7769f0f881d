"""Who watches a conversation: a queue of frames for each open page."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from chatapp.live import protocol

# Frames a watcher may be behind before it is dropped; a fast reply makes some 20 a second.
BACKLOG = 500

Queue = asyncio.Queue[protocol.Frame | None]


class Watchers:
    """All watchers of one conversation; true while there are any."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._queues: set[Queue] = set()

    def __bool__(self) -> bool:
        """Whether anybody watches: nothing need be rendered for nobody."""
        return bool(self._queues)

    def send(self, frame: protocol.Frame) -> None:
        """Hand a frame to every watcher; one that fell behind is dropped, and told so."""
        for queue in list(self._queues):
            if queue.qsize() < BACKLOG:
                queue.put_nowait(frame)
            else:
                self._drop(queue)

    def dismiss(self) -> None:
        """Drop every watcher: whoever still may watch comes back."""
        for queue in list(self._queues):
            self._drop(queue)

    def _drop(self, queue: Queue) -> None:
        self._queues.discard(queue)
        queue.put_nowait(None)

    async def watch(
        self, snapshot: Callable[[], Awaitable[Sequence[protocol.Frame]]]
    ) -> AsyncIterator[protocol.Frame]:
        """Yield the snapshot's frames, then every frame that is sent.

        Ends when the watcher is dropped; it should come back for a snapshot.
        """
        queue: Queue = asyncio.Queue()
        self._queues.add(queue)
        try:
            for frame in await snapshot():
                yield frame
            while (sent := await queue.get()) is not None:
                yield sent
        finally:
            self._queues.discard(queue)
