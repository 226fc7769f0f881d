"""The channel of several processes: short streams in Redis or Valkey, which may be emptied.

Each turn has a stream whose entries are numbered by attempt and place, so that Redis itself refuses
entries of an earlier attempt. An entry has events, or it is a *keyframe*: the whole state by then,
for readers that come late or missed something. Hints share one stream.
"""

import asyncio
import contextlib
import contextvars
import itertools
import logging
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, override

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from chatapp.agent.events import Restarted, TurnEnded, TurnEvent, joined
from chatapp.page.live.channel import KEPT_AFTER_END, Channel, EventLog, Events
from chatapp.page.live.codec import decode, encode
from chatapp.page.live.hints import ChannelRestored, Hint

log = logging.getLogger(__name__)

TURN, HINTS, WAKE = "palimpsest:turn:", "palimpsest:hints", "palimpsest:wake:"
# Hints that are kept; a turn takes about four.
MOST_HINTS = 10_000
# Entries of a turn from one keyframe to the next.
KEYFRAME_AFTER = 64
# Seconds between two writes, and two reads, each of which takes all that came meanwhile.
SHORTEST = 0.03
AGAIN, BLOCK, ANSWER = 0.5, 5.0, 10.0  # seconds before a new try, for news, for an answer
KEPT = 3600  # seconds for which a turn without events is kept

Entry = tuple[bytes, dict[bytes, bytes]]

# Before the first entry of a stream.
BEFORE_FIRST_ENTRY = b"0-0"


def _place(id_: bytes) -> tuple[int, int]:
    """Return an entry's attempt, and its number in that."""
    attempt, _, number = id_.partition(b"-")
    return int(attempt), int(number)


def _is_later(error: ResponseError) -> bool:
    """Return True if a stream has entries of a later attempt."""
    return "equal or smaller" in str(error)


class RedisPublisher:
    """The writing end of one attempt of a turn."""

    def __init__(self, channel: "RedisChannel", turn: uuid.UUID, attempt: int) -> None:
        self.channel, self.turn, self.attempt = channel, turn, attempt
        self.log = EventLog()
        self.pending: list[TurnEvent] = []
        self.needs_keyframe = True
        self.is_closed = self.has_ended = False
        self._written = self._since_keyframe = 0
        self._stale_at = 0.0
        # The place of the last keyframe.
        self._keyframe = ""

    def publish(self, event: TurnEvent) -> None:
        """Add an event to the next write."""
        self.log.add(event)
        self.pending.append(event)
        self.has_ended = isinstance(event, TurnEnded)
        self.channel.wants_to_write(self)

    def close(self) -> None:
        """Write the rest, and nothing more."""
        self.is_closed = True
        self.channel.wants_to_write(self)

    def write(self, pipeline: Pipeline) -> int:
        """Add the pending entries to a pipeline; return the number of its new commands."""
        before, key = len(pipeline), f"{TURN}{self.turn}"
        pending, self.pending = self.pending, []
        if pending and self._written:
            self._add(pipeline, key, joined(pending))
        now, is_long = time.monotonic(), self._since_keyframe >= KEYFRAME_AFTER
        if self.needs_keyframe or is_long or now >= self._stale_at:
            self.needs_keyframe, self._since_keyframe = False, 0
            # Written before the stream may be gone: without one, a new reader finds no beginning.
            self._stale_at = now + KEPT / 2
            place = self._add(pipeline, key, self.log.read(), keyframe=b"1")
            # A reader who is a little late finds the entries before it, and need not begin anew.
            pipeline.xtrim(key, minid=self._keyframe or place, approximate=False)
            self._keyframe = place
            pipeline.expire(key, KEPT)
        if self.has_ended:
            pipeline.expire(key, KEPT_AFTER_END)
        return len(pipeline) - before

    def _add(self, pipeline: Pipeline, key: str, told: Iterable[TurnEvent], **fields: bytes) -> str:
        self._written += 1
        self._since_keyframe += 1
        place = f"{self.attempt}-{self._written}"
        entry: dict[Any, Any] = {"events": encode(told), **fields}
        pipeline.xadd(key, entry, id=place)
        return place


class Follower:
    """A reader of a turn's events in this process."""

    def __init__(self) -> None:
        self.events = Events()
        self._place = (0, 0)

    def take(self, entries: Sequence[Entry]) -> None:
        """Pass on new events; after a gap nothing, until there is a keyframe."""
        for id_, fields in entries:
            attempt, number = _place(id_)
            follows = (attempt, number - 1) == self._place
            if (attempt, number) <= self._place or not (follows or b"keyframe" in fields):
                continue
            self._place = attempt, number
            if b"keyframe" not in fields:
                told = decode(fields[b"events"])
            elif follows:
                continue
            else:
                told = [Restarted(), *decode(fields[b"events"])]
            for event in told:
                self.events.put_nowait(event)


class RedisChannel(Channel):
    """The channel over Redis Streams: one pipeline for all entries that are pending."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._name = uuid.uuid4().hex
        self._wake = f"{WAKE}{self._name}"
        self._publishers: dict[uuid.UUID, RedisPublisher] = {}
        self._waiting: set[RedisPublisher] = set()
        self._hints: list[Hint] = []
        self._followers: dict[str, set[Follower]] = {}
        # The last entry of each turn's stream that was read for its followers.
        self._positions: dict[str, bytes] = {}
        self._news = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        # True if Redis did not take the last event or hint.
        self.is_away = False

    @override
    def start(self) -> None:
        if self.loop is asyncio.get_running_loop() and self._tasks:
            return
        super().start()
        self._redis = Redis.from_url(
            self._url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=ANSWER
        )
        # An address may name less: news may take longer than that.
        self._redis.connection_pool.connection_kwargs["socket_timeout"] = ANSWER
        self._news = asyncio.Event()
        context = contextvars.Context()
        self._tasks = [
            asyncio.create_task(work, context=context) for work in (self._write(), self._read())
        ]

    @override
    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
            with contextlib.suppress(RedisError, OSError):
                await self._write_all()
            await self._redis.aclose()
        self._tasks.clear()

    @override
    def tell(self, hint: Hint) -> None:
        super().tell(hint)
        if self.loop and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._tell_others, hint, context=contextvars.Context())

    def _tell_others(self, hint: Hint) -> None:
        self._hints.append(hint)
        self._news.set()

    @override
    def open(self, turn: uuid.UUID, attempt: int) -> RedisPublisher:
        self._publishers[turn] = publisher = RedisPublisher(self, turn, attempt)
        return publisher

    def wants_to_write(self, publisher: RedisPublisher) -> None:
        """Mark a publisher as having something to write."""
        self._waiting.add(publisher)
        self._news.set()

    async def _write(self) -> None:
        """Write all pending entries at a time; while Redis is away, try again."""
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._write_all()
            except (RedisError, OSError) as error:
                self._lose(error)
                await asyncio.sleep(AGAIN)
                self._news.set()
            await asyncio.sleep(SHORTEST)

    async def _write_all(self) -> None:
        waiting, self._waiting = self._waiting, set()
        told, self._hints = self._hints, []
        async with self._redis.pipeline(transaction=False) as pipeline:
            counts = [(publisher, publisher.write(pipeline)) for publisher in waiting]
            if told:
                hints: dict[Any, Any] = {"from": self._name, "hints": encode(told)}
                pipeline.xadd(HINTS, hints, maxlen=MOST_HINTS)
            try:
                answers: list[Any] = (
                    await pipeline.execute(raise_on_error=False) if counts or told else []
                )
                for one in answers:
                    # It may be full, or a replica.
                    if isinstance(one, ResponseError) and not _is_later(one):
                        raise one
            except BaseException:
                # Nobody knows how much of it arrived: hints may come twice, the rest is written
                # anew.
                self._hints = (told + self._hints)[-MOST_HINTS:]
                self._write_anew(waiting)
                raise
        rest = iter(answers)
        for publisher, count in counts:
            written = [*itertools.islice(rest, count)]
            if any(isinstance(one, ResponseError) for one in written):
                # A later attempt publishes now.
                publisher.is_closed = True
            if publisher.is_closed and self._publishers.get(publisher.turn) is publisher:
                del self._publishers[publisher.turn]

    def _lose(self, error: Exception) -> None:
        """Record that Redis can't be used; have every turn's events written again.

        The last entries, or all in Redis, may be lost.
        """
        if not self.is_away:
            log.warning("Redis can't be used, and is tried again: %s", error)
        self.is_away = True
        self._write_anew(self._publishers.values())

    def _write_anew(self, publishers: Iterable[RedisPublisher]) -> None:
        """Have the events of these turns written again as keyframes."""
        for publisher in publishers:
            publisher.needs_keyframe = True
            self._waiting.add(publisher)

    async def _read(self) -> None:
        """Pass on hints, and the events of turns that are followed here."""
        last: Any = None
        woken: bytes | str = "0-0"
        while True:
            try:
                if last is None:
                    newest = await self._redis.xrevrange(HINTS, count=1)
                    last = newest[0][0] if newest else "0-0"
                streams: dict[Any, Any] = {HINTS: last, self._wake: woken, **self._positions}
                answer = await self._ask(streams)
            except (RedisError, OSError) as error:
                self._lose(error)
                await asyncio.sleep(AGAIN)
                continue
            if self.is_away:
                self.is_away = False
                self.deliver(ChannelRestored())
                self._news.set()
            for key, entries in answer or ():
                name = key.decode()
                if name == HINTS:
                    last = entries[-1][0]
                    self._pass_on(entries)
                elif name == self._wake:
                    woken = entries[-1][0]
                elif name in self._positions:
                    self._positions[name] = entries[-1][0]
                    for follower in self._followers[name]:
                        follower.take(entries)
            await asyncio.sleep(SHORTEST)

    async def _ask(self, streams: dict[Any, Any]) -> Any:
        """Wait for new entries; raise RedisError also if Redis can be read, but takes nothing."""
        answer = await self._redis.xread(streams, block=int(1000 * BLOCK))
        if self.is_away or not answer:
            await self._wake_up()
        return answer

    async def _wake_up(self) -> None:
        """Have this process read anew; raise RedisError if Redis takes nothing."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.xadd(self._wake, {"from": self._name}, maxlen=1)
            pipeline.expire(self._wake, int(12 * BLOCK))
            await pipeline.execute()

    def _pass_on(self, entries: Sequence[Entry]) -> None:
        for _id, fields in entries:
            if fields[b"from"].decode() != self._name:
                for hint in decode(fields[b"hints"]):
                    self.deliver(hint)

    @override
    @asynccontextmanager
    async def read(self, turn: uuid.UUID) -> AsyncIterator[Events]:
        follower, key, begin = Follower(), f"{TURN}{turn}", BEFORE_FIRST_ENTRY
        followers = self._followers.setdefault(key, set())
        followers.add(follower)
        try:
            # First the entries there; those that come meanwhile are read twice, known by number.
            with contextlib.suppress(RedisError, OSError):
                entries: Any = await self._redis.xrange(key)
                follower.take(entries)
                begin = entries[-1][0] if entries else BEFORE_FIRST_ENTRY
            self._positions[key] = min(begin, self._positions.get(key, begin), key=_place)
            try:
                await self._wake_up()
            except (RedisError, OSError) as error:
                self._lose(error)
            yield follower.events
        finally:
            followers.discard(follower)
            if not followers:
                self._followers.pop(key, None)
                self._positions.pop(key, None)
