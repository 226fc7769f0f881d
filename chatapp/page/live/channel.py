"""The channel: carries a running turn's events to its watchers, and hints to all processes.

Nothing in it is the truth: that is in the rows. A turn's events are kept only as far as somebody
who comes late needs them, and may be lost at any moment.
"""

import asyncio
import contextvars
import logging
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, override

from django.conf import settings
from django.utils.module_loading import import_string

from chatapp.agent import async_tasks, events
from chatapp.agent.events import Restarted, TurnEvent
from chatapp.page.live.hints import Hint

log = logging.getLogger(__name__)

_WRITTEN = (
    events.TextStreamed, events.ThinkingStarted, events.ThinkingStreamed, events.ThinkingEnded,
    events.ToolUseStarted,
)  # fmt: skip
_CONDENSING = (
    events.CondensingStarted, events.CondensingProgressed, events.SummaryStreamed,
    events.ReviewAsked, events.ReviewAnswered, events.CondensingFellBack,
)  # fmt: skip
_TOOLS = (events.ToolStarted, events.ToolProgressed, events.ToolFinished)
_STEP = (
    *_WRITTEN, events.StepStarted, events.RetryScheduled, events.StreamDiscarded,
    events.PersonAsked, events.PersonAnswered,
)  # fmt: skip
# The earlier events that an event makes needless.
_REPLACES: dict[type, tuple[type, ...]] = {
    # A cancelled attempt may not have said that it ended.
    events.StepStarted: (*_STEP, *_CONDENSING),
    # The text came after the pause that an earlier failure had led to.
    events.StreamDiscarded: (*_WRITTEN, events.RetryScheduled),
    events.ContextChanged: (events.ContextChanged,),
    events.PersonAnswered: (events.PersonAsked,),
    events.CondensingStarted: (events.CondensingAwaited,),
    events.CondensingProgressed: (events.CondensingProgressed,),
    events.CondensingFellBack: (events.CondensingProgressed, events.SummaryStreamed),
    events.CondensingEnded: (*_CONDENSING, events.CondensingAwaited, events.CondensingEnded),
    events.CondensingAwaited: (events.CondensingAwaited,),
    events.TurnEnded: (*_STEP, *_CONDENSING, events.CondensingAwaited),
}


class EventLog:
    """The events of a running turn that a new reader needs, in order."""

    def __init__(self) -> None:
        self._told: list[TurnEvent] = []

    def add(self, event: TurnEvent) -> None:
        """Add an event, and drop those that it makes needless."""
        needless = _REPLACES.get(type(event), ())
        if isinstance(event, events.MessageAppended):
            # Results are shown on the cards of the calls before them.
            needless = _STEP if event.holds_results else (*_STEP, *_TOOLS, events.MessageAppended)
        if needless:
            self._told = [one for one in self._told if not isinstance(one, needless)]
        elif isinstance(event, events.ToolProgressed | events.ToolFinished):
            is_over = isinstance(event, events.ToolFinished)
            over = events.ToolStarted if is_over else events.ToolProgressed
            self._told = [
                one
                for one in self._told
                if not (isinstance(one, over | events.ToolProgressed) and one.id == event.id)
            ]
        self._told.append(event)

    def read(self) -> list[TurnEvent]:
        """Return the events for a new reader; adjacent pieces are joined."""
        self._told = [*events.joined(self._told)]
        return self._told


class Publisher(Protocol):
    """The writing end of one turn: an ``Audience`` of the agent's."""

    def publish(self, event: TurnEvent) -> None:
        """Send an event to all watchers; returns at once."""

    def close(self) -> None:
        """Publish nothing more: the turn ended, or goes on elsewhere."""


Events = asyncio.Queue[TurnEvent]
Listener = Callable[[Hint], None]

# Seconds for which the events of an ended turn can still be read.
KEPT_AFTER_END = 120


class Channel(ABC):
    """Events of turns, and hints. Its methods belong to the event loop, except ``tell``.

    While it ``is_away``, no hints or events of other processes arrive.
    """

    is_away = False

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.listeners: list[Listener] = []

    def start(self) -> None:
        """Work on the running event loop from now on; once is enough."""
        self.loop = asyncio.get_running_loop()

    async def close(self) -> None:  # noqa: B027 - in memory all is told at once
        """Send everything that is pending, then nothing more."""

    def tell(self, hint: Hint) -> None:
        """Send a hint to every process, this one first; callable from any thread."""
        if self.loop and not self.loop.is_closed():
            # A request's own context ends with it, and takes the threads for its queries along.
            self.loop.call_soon_threadsafe(self.deliver, hint, context=contextvars.Context())

    def deliver(self, hint: Hint) -> None:
        """Pass a hint to every listener in this process; log those that fail."""
        for listener in self.listeners:
            try:
                listener(hint)
            except Exception:
                log.exception("a hint could not be heeded")

    @abstractmethod
    def open(self, turn: uuid.UUID, attempt: int) -> Publisher:
        """Return a publisher for a turn's attempt; those of earlier attempts become void."""

    @abstractmethod
    def read(self, turn: uuid.UUID) -> AbstractAsyncContextManager[Events]:
        """Yield a queue: a turn's state, then later events; ``Restarted`` voids all before it."""


class _TurnInMemory:
    """The events and readers of one turn; ``forget`` drops it."""

    def __init__(self, forget: Callable[[], object]) -> None:
        self._forget = forget
        self.log = EventLog()
        self.readers: set[Events] = set()
        self.publisher: _PublisherInMemory | None = None
        # True while it has a publisher, and for a while after that.
        self.is_kept = False

    def let_go(self) -> None:
        """Drop the turn, unless it has readers or is kept."""
        if not (self.readers or self.is_kept):
            self._forget()

    def keep_no_longer(self) -> None:
        """Drop the turn once it has no readers, unless it has a publisher again."""
        self.is_kept = self.publisher is not None
        self.let_go()


class _PublisherInMemory:
    """The writing end of one attempt of a turn, until a later one begins."""

    def __init__(self, turn: _TurnInMemory, attempt: int) -> None:
        self._turn, self.attempt = turn, attempt

    def publish(self, event: TurnEvent) -> None:
        """Send an event to all readers, unless a later attempt has begun."""
        if self._turn.publisher is self:
            self._turn.log.add(event)
            for reader in self._turn.readers:
                reader.put_nowait(event)

    def close(self) -> None:
        """Publish nothing more; the events stay readable for a while."""
        if self._turn.publisher is self:
            self._turn.publisher = None
            asyncio.get_running_loop().call_later(KEPT_AFTER_END, self._turn.keep_no_longer)


class ChannelInMemory(Channel):
    """The channel of a process that shares its conversations with no other."""

    def __init__(self) -> None:
        super().__init__()
        self._turns: dict[uuid.UUID, _TurnInMemory] = {}

    def _turn(self, turn: uuid.UUID) -> _TurnInMemory:
        if turn not in self._turns:
            self._turns[turn] = _TurnInMemory(lambda: self._turns.pop(turn, None))
        return self._turns[turn]

    @override
    def open(self, turn: uuid.UUID, attempt: int) -> Publisher:
        told = self._turn(turn)
        publisher = _PublisherInMemory(told, attempt)
        if told.publisher is None or told.publisher.attempt <= attempt:
            told.publisher, told.log, told.is_kept = publisher, EventLog(), True
            publisher.publish(Restarted())
        return publisher

    @override
    @asynccontextmanager
    async def read(self, turn: uuid.UUID) -> AsyncIterator[Events]:
        told, heard = self._turn(turn), Events()
        for event in told.log.read():
            heard.put_nowait(event)
        told.readers.add(heard)
        try:
            yield heard
        finally:
            told.readers.discard(heard)
            told.let_go()


def make_channel() -> Channel:
    """Return the channel of this process, as the settings have it."""
    if not settings.CLUSTER:
        return ChannelInMemory()
    # In two processes a piece costs twice, so each passes on half as many.
    async_tasks.ALL_PIECES //= 2
    # By its name: it needs the extra "scale", and imports this module.
    made: Channel = import_string("chatapp.page.live.redis_channel.RedisChannel")(
        settings.REDIS_URL
    )
    return made


channel = make_channel()
