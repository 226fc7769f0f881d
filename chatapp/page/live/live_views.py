"""The live views of this process: the open pages of its conversations, kept current.

Each conversation with an open page in this process has one for each language of its readers. Its
task follows the turn's events, coalesces streamed text, reads the database and renders the
templates. Errors are logged, and do not end the task.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Exists, OuterRef, Subquery

from chatapp.agent import events
from chatapp.conversations.context.turn_context import known_runs
from chatapp.models import Conversation, Message, Turn
from chatapp.models.database import reading
from chatapp.page.live import hints, outgoing_frames
from chatapp.page.live.channel import Events, channel
from chatapp.page.live.outgoing_frames import LINGER, Watchers
from chatapp.page.live.status_panel import Notice, QueueView
from chatapp.page.live.turn_view import TurnView
from chatapp.page.transcript import row_pages
from chatapp.project import languages
from chatapp.project.languages import Reader, in_words
from condense import noop

log = logging.getLogger(__name__)

# Seconds for which a new page waits for the earlier events of a turn …
LONGEST_CATCHING_UP = 1.0
# … and a turn for the end of the one before it to be shown.
LONGEST_END = 5.0

# Seconds between two looks at the rows for changes without a hint, and while none can come.
INTERVAL, WITHOUT_HINTS = 10.0, 1.0

# Seconds that a turn may wait for a worker before its page says so.
UNCLAIMED = 3.0

_ENDS: dict[str, str] = {Turn.Status.SUCCEEDED: events.DONE, Turn.Status.FAILED: events.FAILED}


class LiveView:
    """The live view of one conversation for readers of one language."""

    def __init__(self, conversation_id: uuid.UUID, watchers: Watchers | None = None) -> None:
        self.conversation_id = conversation_id
        self.reader = languages.reader()
        self.watchers = Watchers() if watchers is None else watchers
        self.turn_view = TurnView(conversation_id, self.watchers)
        self.queue = QueueView(conversation_id, self.watchers)
        # The conversation's owner, and the number of holders of the view.
        self.owner = self.holders = 0
        # The turn whose events are shown, until its end is.
        self.followed: uuid.UUID | None = None
        # The number of turns shown.
        self.turns = 0
        # The conversation's revision, and the number of turns shown, at the last look.
        self.looked_at: tuple[int, int] | None = None
        self._following: asyncio.Task[None] | None = None
        self._caught_up = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, turn: uuid.UUID, *, question: int = 0, waits: bool = False) -> None:
        """Show a turn and its question from now on; ``waits`` says that it waits for a person."""
        if self.followed != turn:
            self.followed = turn
            self.turns += 1
            self._caught_up.clear()
            work = self._follow(turn, self._following, question, waits)
            # A page's own context would take its thread for queries along when it goes.
            self._following = asyncio.create_task(work)

    def leave(self) -> None:
        """Stop following: the view has no watchers."""
        self.followed = None
        for task in (self._following, *self._tasks):
            if task:
                task.cancel()

    async def catch_up(self) -> None:
        """Show the running turn, or the end of the one shown before, from the stored rows."""
        before = self.followed
        turn = await reading(_find_unfinished)(self.conversation_id)
        # Hints that arrived during the query are newer than its result.
        is_newest = self.followed == before
        if is_newest and turn and turn.pk != before:
            self.follow(turn.pk, waits=turn.waits)
        elif is_newest and before and turn is None:
            await self._end_unheard(before)
        if self.followed and self.followed != before:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._caught_up.wait(), LONGEST_CATCHING_UP)

    async def _follow(
        self, turn: uuid.UUID, before: asyncio.Task[None] | None, question: int, waits: bool
    ) -> None:
        if before and not before.done():
            await asyncio.wait({before}, timeout=LONGEST_END)
            before.cancel()
        self.turn_view.begin(turn, known_runs.get(turn), waits=waits)
        if question:
            await self._safely(self.turn_view.show, events.MessageAppended(question, "user"))
        async with channel.read(turn) as told:
            await self._present(told)
        if self.followed == turn:
            self.followed = None

    async def _end_unheard(self, turn: uuid.UUID) -> None:
        """Show the end of a turn whose last event was missed, unless it arrives a moment later."""
        if self._following:
            await asyncio.wait({self._following}, timeout=LONGEST_CATCHING_UP)
        row = await reading(Turn.objects.filter(pk=turn).first)()
        if self.followed != turn or (row and not row.is_over):
            return
        self.followed = None
        if self._following:
            self._following.cancel()
        said = in_words(_ENDS.get(row.status, events.STOPPED)) if row else ""
        if reply := await reading(_find_reply)(turn):
            # The part of the streamed text that could be saved.
            await self._safely(self.turn_view.show, events.MessageAppended(reply, "assistant"))
        await self._safely(self.turn_view.settle)
        await self._safely(self.turn_view.end, said, None, changed=True)

    async def _present(self, told: Events) -> None:
        """Show events as they come, and text when it is due, until the turn has ended."""
        while True:
            part = self.turn_view.part
            due = part.due if part else None
            seconds = due and due - time.monotonic()
            if told.empty():
                self._caught_up.set()
                if seconds is not None and seconds <= 0:
                    # To run into a timeout takes longer than this.
                    await self._safely(self.turn_view.flush)
                    continue
            try:
                async with asyncio.timeout(seconds):
                    event = await told.get()
            except TimeoutError:
                await self._safely(self.turn_view.flush)
                continue
            if due and not isinstance(event, events.TextStreamed | events.ThinkingStreamed):
                await self._safely(self.turn_view.flush)
            if isinstance(event, events.TurnEnded):
                return await self._end(event)
            await self._safely(self.turn_view.show, event)

    async def _end(self, ended: events.TurnEnded) -> None:
        """Show that nothing runs any more, with the reason."""
        notice = Notice(ended.kind, ended.reason, ended.details) if ended.reason else None
        await self._safely(self.turn_view.settle)
        status = in_words(ended.status)
        await self._safely(self.turn_view.end, status, notice, changed=ended.has_row)
        self._caught_up.set()

    async def snapshot(self, place: outgoing_frames.PageProgress) -> outgoing_frames.Frame:
        """Return the frame with the whole state of a page as of ``place``."""
        turn_view = self.turn_view
        revision = await reading(row_pages.revision)(self.conversation_id)
        articles, panel = await turn_view.articles(), await turn_view.panel()
        growing = turn_view.growing
        return outgoing_frames.snapshot(
            place,
            revision=revision,
            turn=turn_view.turn,
            status=turn_view.status,
            waits=turn_view.waits,
            articles=articles,
            streamed=await growing.snapshot() if growing else (),
            panel=panel,
            queue=await self.queue.render(),
        )

    def hear(self, hint: hints.Hint) -> None:  # noqa: C901 - a case for each
        """Show the change that a hint announces."""
        match hint:
            case hints.TurnOpened(turn=turn, question=question):
                self.follow(turn, question=question)
                if not question:
                    # An edit or a retry may have set messages aside.
                    self._start(self.show_change)
            case hints.ConversationChanged() | hints.UserChanged():
                self._start(self.show_change)
            case hints.ContextNews():
                self._start(self.turn_view.show_panel)
            case hints.QueueChanged():
                self._start(self.queue.show)
            case hints.TitleChanged():
                self.watchers.send(outgoing_frames.title_changed())
            case hints.SavingDelayed(until=until):
                words = noop("The server could not save what comes next.")
                self.turn_view.notice = Notice("retry", words, until=until) if until else None
                self._start(self.turn_view.show_panel)
            case hints.ConversationDeleted() | hints.SessionsEnded():
                self.watchers.dismiss()
            case hints.ListChanged(but=but) if but != self.conversation_id:
                self.show_list()
            case hints.ChannelRestored():
                self._start(self.show_change)
                self._start(self.queue.show)
                self.show_list()
                self.watchers.send(outgoing_frames.title_changed())

    def _start(self, show: Callable[[], Awaitable[None]]) -> None:
        """Run ``show`` as a task, apart from the turn's events."""
        task = asyncio.create_task(self._safely(show))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def show_change(self) -> None:
        """Have every page fetch the transcript and the panel again."""
        await self._safely(self.catch_up)
        await self._safely(self.turn_view.show_change)

    async def look(self, revision: int, turn: uuid.UUID | None, *, is_unclaimed: bool) -> None:
        """Show changes of the rows whose hints were missed."""
        before, self.looked_at = self.looked_at, (revision, self.turns)
        if turn != self.followed:
            await self.catch_up()
        elif is_unclaimed:
            self.turn_view.wait_for_worker()
        elif turn and channel.is_away:
            self.turn_view.wait_for_channel()
        elif turn is None and before and before[0] != revision and before[1] == self.turns:
            # The change was not by a turn; a page that has it need fetch nothing.
            await self.show_change()

    def show_list(self) -> None:
        """Have every page fetch its list of conversations again."""
        self.watchers.send(outgoing_frames.list_changed())

    async def _safely[**P](
        self, show: Callable[P, Awaitable[None]], *told: P.args, **how: P.kwargs
    ) -> None:
        """Await ``show``; log its errors, since they must not end the turn."""
        try:
            await show(*told, **how)
        except Exception:
            log.exception("something could not be shown")


class LiveViews:
    """The live views of this process, by conversation and reader."""

    interval = INTERVAL

    def __init__(self) -> None:
        self.views: dict[uuid.UUID, dict[Reader, LiveView]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def watch(
        self, conversation: Conversation, since: outgoing_frames.PageProgress | None
    ) -> AsyncIterator[str]:
        """Yield the frames after ``since`` or a snapshot, then all later frames.

        Ends when the page falls too far behind.
        """
        with self._held(conversation) as view:
            if not view.watchers:
                await view.catch_up()
            watching = view.watchers.watch(view.snapshot, since)
            async with contextlib.aclosing(watching) as texts:
                async for text in texts:
                    yield text

    @contextlib.contextmanager
    def _held(self, conversation: Conversation) -> Iterator[LiveView]:
        channel.start()
        self._keep_looking()
        there, reader = self.views.setdefault(conversation.pk, {}), languages.reader()
        if (view := there.get(reader)) is None:
            view = there[reader] = LiveView(conversation.pk)
            # Changes from now on are new to each page that comes.
            view.looked_at = conversation.revision, view.turns
        view.owner = conversation.owner_id
        view.holders += 1
        try:
            yield view
        finally:
            view.holders -= 1
            self._close_idle(view)

    def _close_idle(self, view: LiveView) -> None:
        """Drop a view without watchers; during a turn only after a while, as a page may return."""
        there = self.views.get(view.conversation_id, {})
        if view.holders or there.get(view.reader) is not view:
            return
        if view.watchers and view.followed:
            asyncio.get_running_loop().call_later(LINGER + 1, self._close_idle, view)
            return
        del there[view.reader]
        if not there:
            del self.views[view.conversation_id]
        view.leave()

    def newest(self, conversation_id: uuid.UUID) -> int:
        """Return the number of the last change that was sent to this reader's pages."""
        view = self.views.get(conversation_id, {}).get(languages.reader())
        return view.watchers.change if view else 0

    @property
    def watchers(self) -> int:
        """Return the number of pages that watch; callable from any thread."""
        return sum(view.watchers.count for view in self._all())

    def _all(self) -> list[LiveView]:
        return [view for there in [*self.views.values()] for view in [*there.values()]]

    def hear(self, hint: hints.Hint) -> None:
        """Pass a hint to the views that it concerns."""
        for view in self._concerned(hint):
            with view.reader.reading():
                view.hear(hint)

    def _concerned(self, hint: hints.Hint) -> list[LiveView]:
        match hint:
            case hints.ListChanged(user) | hints.UserChanged(user) | hints.SessionsEnded(user):
                return [view for view in self._all() if view.owner == user]
            case hints.ChannelRestored():
                return self._all()
        return [*self.views.get(hint.conversation, {}).values()]

    def _keep_looking(self) -> None:
        """Read the rows from time to time in a cluster: other processes write them, too."""
        if settings.CLUSTER and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look_again())

    async def _look_again(self) -> None:
        while self.views:
            await self._rest()
            try:
                await self.look()
            except DatabaseError as error:
                log.warning("what pages show could not be looked at yet: %s", error)
            except Exception:
                # Without this look, a turn that ended without a hint would be shown for ever.
                log.exception("what pages show could not be looked at; it is tried again")

    async def _rest(self) -> None:
        """Wait until the rows are due to be read again: soon if the channel is away."""
        until = time.monotonic() + self.interval
        while (now := time.monotonic()) < until:
            await asyncio.sleep(min(WITHOUT_HINTS, until - now))
            if channel.is_away:
                break

    async def look(self) -> None:
        """Show changes of the rows whose hints were missed."""
        for pk, revision, turn, is_unclaimed in await reading(_states)([*self.views]):
            for view in [*self.views.get(pk, {}).values()]:
                with view.reader.reading():
                    await view.look(revision, turn, is_unclaimed=is_unclaimed)


def _find_unfinished(conversation_id: uuid.UUID) -> Turn | None:
    return Turn.objects.unfinished().filter(conversation=conversation_id).first()


def _find_reply(turn: uuid.UUID) -> int | None:
    """Return the seq of the reply that ends a turn, None if none is stored."""
    last = Message.objects.filter(turn=turn).in_force().written().newest()
    return last.seq if last and last.role == Message.Role.ASSISTANT else None


def _states(conversations: list[uuid.UUID]) -> list[tuple[uuid.UUID, int, uuid.UUID | None, bool]]:
    """Return each conversation's revision, unfinished turn, and True if that has no worker."""
    unclaimed = Turn.objects.unclaimed(UNCLAIMED).filter(conversation=OuterRef("pk"))
    unfinished = Turn.objects.unfinished().filter(conversation=OuterRef("pk"))
    found = Conversation.objects.filter(pk__in=conversations)
    turns = found.annotate(
        turn_now=Subquery(unfinished.values("pk")[:1]), is_unclaimed=Exists(unclaimed)
    )
    return [*turns.values_list("pk", "revision", "turn_now", "is_unclaimed")]


views = LiveViews()
channel.listeners.append(views.hear)
