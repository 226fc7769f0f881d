"""The live views of this process: one for each conversation that somebody watches here."""

import asyncio
import contextlib
import functools
import logging
import uuid
from collections.abc import AsyncIterator, Iterator

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Exists, OuterRef, Subquery

from chatapp.live import hints, outgoing_frames
from chatapp.live.channel import channel
from chatapp.live.live_view import LiveView
from chatapp.live.outgoing_frames import LINGER
from chatapp.live.status_panel import Notice
from chatapp.models import Conversation, Turn
from chatapp.models.database import reading
from condense import noop

log = logging.getLogger(__name__)

# Seconds between two looks at the rows, which show what no hint told.
INTERVAL = 10.0

# Seconds that a turn may wait for a worker before its page says so.
UNCLAIMED = 3.0


class WatchedView(LiveView):
    """A live view, with the user whose conversation it is, and how many hold it."""

    owner = 0
    holders = 0
    # The revision of the conversation, and how many turns were shown, at the last look.
    looked_at: tuple[int, int] | None = None


class LiveViews:
    """The live views of this process, by conversation."""

    interval = INTERVAL

    def __init__(self) -> None:
        self.views: dict[uuid.UUID, WatchedView] = {}
        self._looking: asyncio.Task[None] | None = None

    async def watch(
        self, conversation: Conversation, since: outgoing_frames.Place | None
    ) -> AsyncIterator[str]:
        """Yield the frames that a page lacks which has everything up to ``since``, then all.

        They end when the page falls too far behind.
        """
        with self._held(conversation) as view:
            if not view.watchers:
                await view.catch_up()
            watching = view.watchers.watch(view.snapshot, since)
            async with contextlib.aclosing(watching) as texts:
                async for text in texts:
                    yield text

    @contextlib.contextmanager
    def _held(self, conversation: Conversation) -> Iterator[WatchedView]:
        channel.start()
        self._keep_looking()
        pk = conversation.pk
        view = self.views.setdefault(pk, WatchedView(pk))
        view.owner = conversation.owner_id
        view.holders += 1
        try:
            yield view
        finally:
            view.holders -= 1
            self._close_idle(view)

    def _close_idle(self, view: WatchedView) -> None:
        """Forget a view that nobody watches; while something runs, a page may soon come back."""
        if view.holders or self.views.get(view.conversation_id) is not view:
            return
        if view.watchers and view.followed:
            asyncio.get_running_loop().call_later(LINGER + 1, self._close_idle, view)
            return
        del self.views[view.conversation_id]
        view.leave()

    def newest(self, conversation_id: uuid.UUID) -> int:
        """Return the number of the last change that pages of a conversation were told of."""
        view = self.views.get(conversation_id)
        return view.watchers.change if view else 0

    @property
    def watchers(self) -> int:
        """How many pages watch; callable from any thread."""
        return sum(view.watchers.count for view in [*self.views.values()])

    def _of(self, user: int) -> list[WatchedView]:
        return [view for view in self.views.values() if view.owner == user]

    @functools.singledispatchmethod
    def hear(self, hint: hints.Hint) -> None:
        """Show what a hint tells of."""

    @hear.register
    def _(self, hint: hints.TurnOpened) -> None:
        if view := self.views.get(hint.conversation):
            view.follow(hint.turn, question=hint.question)
            if not hint.question:
                # An edit or a retry may have set messages aside.
                view.start(view.show_change())

    @hear.register
    def _(self, hint: hints.ConversationChanged) -> None:
        if view := self.views.get(hint.conversation):
            view.start(view.show_change())

    @hear.register
    def _(self, hint: hints.ContextNews) -> None:
        if view := self.views.get(hint.conversation):
            view.start(view.show_panel())

    @hear.register
    def _(self, hint: hints.QueueChanged) -> None:
        if view := self.views.get(hint.conversation):
            view.start(view.show_queue())

    @hear.register
    def _(self, hint: hints.TitleChanged) -> None:
        if view := self.views.get(hint.conversation):
            view.watchers.send(outgoing_frames.title_changed())

    @hear.register
    def _(self, hint: hints.SavingDelayed) -> None:
        if view := self.views.get(hint.conversation):
            words = noop("The server could not save what comes next.")
            notice = Notice("retry", words, until=hint.until) if hint.until else None
            view.start(view.show_notice(notice))

    @hear.register
    def _(self, hint: hints.ConversationDeleted) -> None:
        if view := self.views.get(hint.conversation):
            view.watchers.dismiss()

    @hear.register
    def _(self, hint: hints.ListChanged) -> None:
        for view in self._of(hint.user):
            if view.conversation_id != hint.but:
                view.show_list()

    @hear.register
    def _(self, hint: hints.UserChanged) -> None:
        for view in self._of(hint.user):
            view.start(view.show_change())

    @hear.register
    def _(self, hint: hints.SessionsEnded) -> None:
        for view in self._of(hint.user):
            view.watchers.dismiss()

    @hear.register
    def _(self, _hint: hints.ChannelRestored) -> None:
        for view in self.views.values():
            view.start(view.show_change())
            view.start(view.show_queue())
            view.show_list()
            view.watchers.send(outgoing_frames.title_changed())

    def _keep_looking(self) -> None:
        """Look at the rows from time to time, where other processes write them too."""
        if settings.CLUSTER and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_again())

    async def _look_again(self) -> None:
        while self.views:
            await asyncio.sleep(self.interval)
            try:
                await self.look()
            except DatabaseError as error:
                log.warning("what pages show could not be looked at yet: %s", error)
            except Exception:
                # Whoever looks no more shows for ever what no hint told to be over.
                log.exception("what pages show could not be looked at; it is tried again")

    async def look(self) -> None:
        """Show what has changed in the rows without a hint that was heard."""
        for pk, revision, turn, is_unclaimed in await reading(_states)([*self.views]):
            if (view := self.views.get(pk)) is None:
                continue
            before, view.looked_at = view.looked_at, (revision, view.turns)
            if turn != view.followed:
                await view.catch_up()
            elif is_unclaimed:
                view.watchers.reader.enter()
                view.turn_view.wait_for_worker()
            elif turn is None and before and before[0] != revision and before[1] == view.turns:
                # It was changed, and by no turn; a page that was told has nothing to fetch.
                await view.show_change()


def _states(conversations: list[uuid.UUID]) -> list[tuple[uuid.UUID, int, uuid.UUID | None, bool]]:
    """Return of each conversation its revision, its unfinished turn, and if that has no worker."""
    unclaimed = Turn.objects.unclaimed(UNCLAIMED).filter(conversation=OuterRef("pk"))
    unfinished = Turn.objects.unfinished().filter(conversation=OuterRef("pk"))
    found = Conversation.objects.filter(pk__in=conversations)
    turns = found.annotate(
        turn_now=Subquery(unfinished.values("pk")[:1]), is_unclaimed=Exists(unclaimed)
    )
    return [*turns.values_list("pk", "revision", "turn_now", "is_unclaimed")]


views = LiveViews()
channel.listeners.append(views.hear)
