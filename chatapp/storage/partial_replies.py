"""Partial replies, and other writes that must not be lost: people saw them, and they were paid for.

Replies are stored twice a second while they are written, so that a crash takes no more. All of a
process go into one short transaction: a hundred streams cost hardly more writes than one. A stream
never waits for it, and a write that fails ends nothing. While something else holds the database's
lock, or the disk is full, they are only in memory; a crash then takes the text since.
"""

import asyncio
import contextlib
import contextvars
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from asgiref.sync import sync_to_async
from django.db import DatabaseError, OperationalError, transaction

import condense
from chatapp.agent import events
from chatapp.agent.ports import Audience, PartialReply, ReplyReader
from chatapp.models import ModelCall, Turn
from chatapp.models.calls import read_draft
from chatapp.models.database import (
    SqlStatement,
    is_shared,
    locking,
    reading,
    threads,
    together,
    writing,
)
from chatapp.models.errors import explain_write_error
from chatapp.storage.request_log import common
from condense import noop

log = logging.getLogger(__name__)

# Seconds before each new try: a lock is soon given back, and a disk may get room again.
WAITS = (0.5, 2.0, 5.0, 10.0)
UNSAVED = noop("The server could not save what was written. {why}")
STORED_UNREAD = noop("The server could not read what is stored. {why}")


@dataclass(frozen=True, slots=True)
class RetriedWrites:
    """Makes a write again while the database can't take it, and says so to the ``audience``.

    Necessary reads are made again likewise, as while the database is restarted.
    """

    audience: Audience

    async def save[**P, T](self, write: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of ``write``, one transaction, retried; raise OperationalError."""
        return await self._retry(partial(writing(write), *args, **kwargs), UNSAVED)

    async def read[**P, T](self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of ``read``, as ``reading`` does; raise as ``save`` does."""
        return await self._retry(partial(reading(read), *args, **kwargs), STORED_UNREAD)

    async def _retry[T](self, work: Callable[[], Awaitable[T]], told: str) -> T:
        for attempt, seconds in enumerate(WAITS, 2):
            try:
                return await work()
            except OperationalError as error:
                log.warning("what failed in the database is done again: %s", error)
                reason = told.format(why=explain_write_error(error))
                self.audience.publish(
                    events.RetryScheduled(reason, seconds, attempt, len(WAITS) + 1)
                )
                await asyncio.sleep(seconds)
        return await work()


# Seconds from a change to its write, so that with the write itself it takes less than half a one …
WRITE_PAUSE = 0.3
# … and from one write to the next where something began that should be known at once.
SHORTEST_PAUSE = 0.03

# Drafts do not queue behind requests and other writes, which share one thread.
THREAD = threads(1, "drafts")

# Django's own would compile a statement for each row, which costs ten times the write.
_OPEN = (
    "id = %s AND status = 'running' AND (turn_id IS NULL OR EXISTS (SELECT 1 FROM chatapp_turn t "
    "WHERE t.id = turn_id AND t.owner = %s AND t.attempt = %s AND t.finished_at IS NULL))"
)
_STORE = (
    "INSERT INTO chatapp_draftpiece (call_id, at, text) SELECT id, %s, %s FROM chatapp_modelcall "  # noqa: S608 - a condition of our own
    f"WHERE {_OPEN}"
)
_NOTE = (
    "UPDATE chatapp_modelcall SET tokens_input = %s, tokens_output = %s, tokens_cache_read = %s, "  # noqa: S608 - as above
    f"tokens_cache_write = %s WHERE {_OPEN}"
)


class PartialReplyWriter:
    """Writes the newest state of all drafts that changed; a slow disk gets fewer of them."""

    def __init__(self) -> None:
        """Begin with nothing to write; ``task`` is there while there is something."""
        # Calls that are open in the database, and those of them with something new.
        self._open: dict[int, tuple[ReplyReader, Turn | None]] = {}
        # The stored JSON and usage of each call; it has no entry after a failed write.
        self._stored: dict[int, tuple[str, condense.Usage]] = {}
        self._changed: set[int] = set()
        self._hurry = asyncio.Event()
        self._is_failing = False
        self.task: asyncio.Task[None] | None = None

    def keep(self, number: int, read: ReplyReader, *, turn: Turn | None, at_once: bool) -> None:
        """Have a call's draft stored as ``read`` returns it then: soon, or ``at_once``.

        That of a ``turn`` is stored while that turn is not taken or over; others have none.
        """
        self._open[number] = (read, turn)
        self._changed.add(number)
        if self.task is None:
            self._hurry = asyncio.Event()
            # A request's own context would take its thread for queries along when it ends.
            self.task = asyncio.create_task(self._write_all(), context=contextvars.Context())
        if at_once:
            self._hurry.set()

    def newest(self, call: ModelCall) -> PartialReply:
        """Return all that a call has written: of one of this process, more than is stored.

        Callable from any thread, for a call that writes nothing more.
        """
        if kept := self._open.get(call.pk):
            return kept[0]()
        try:
            blocks = json.loads(read_draft(call))
        except ValueError:
            # Else the call could never be closed, and until then no turn begins after a start.
            log.exception("the draft of call %s is damaged, and is left out", call.pk)
            blocks = []
        return PartialReply(blocks, call.usage)

    def forget(self, number: int) -> None:
        """Store nothing more of a call, which is closed; callable from any thread."""
        self._open.pop(number, None)
        self._stored.pop(number, None)

    async def _write_all(self) -> None:
        """Write until nothing changes any more."""
        try:
            while self._changed:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), WRITE_PAUSE)
                self._hurry.clear()
                changed, self._changed = self._changed, set()
                kept = [(number, self._open.get(number)) for number in changed]
                drafts = [(number, one[0](), one[1]) for number, one in kept if one]
                started, before = time.monotonic(), {**self._stored}
                for number in changed:
                    self._stored.pop(number, None)
                try:
                    stored = await _store_apart(drafts, before)
                    self._stored |= {pk: one for pk, one in stored.items() if pk in self._open}
                    self._is_failing = False
                except (DatabaseError, OSError) as error:
                    if not self._is_failing:
                        log.warning("drafts can't be stored, which is tried again: %s", error)
                    self._is_failing = True
                    self._changed |= changed
                    # A write that is slow to fail should not be tried again at once.
                    await asyncio.sleep(max(WRITE_PAUSE, time.monotonic() - started))
                await asyncio.sleep(SHORTEST_PAUSE)
        finally:
            self.task = None


def kept_draft(draft: PartialReply) -> str:
    """Return a broken-off call's blocks as JSON, for people only; "" if it has only text."""
    has_more = any(block["type"] != "text" for block in draft.blocks)
    return json.dumps(draft.blocks) if has_more else ""


def _store(
    drafts: Sequence[tuple[int, PartialReply, Turn | None]],
    before: Mapping[int, tuple[str, condense.Usage]],
) -> dict[int, tuple[str, condense.Usage]]:
    """Store the new parts of open calls' drafts, in one transaction for all; return the drafts."""
    writes, stored = [], {}
    for number, draft, turn in drafts:
        text, used = json.dumps(draft.blocks), draft.usage
        known, noted = before.get(number, ("", condense.Usage()))
        lease = (number, turn.owner if turn else "", turn.attempt if turn else 0)
        at = common(known, text)
        # It waits for a process that closes the call, and then stores nothing.
        writes.append(SqlStatement(_STORE + locking(), (at, text[at:], *lease)))
        if used != noted:
            tokens = (used.input, used.output, used.cache_read, used.cache_write)
            writes.append(SqlStatement(_NOTE, (*tokens, *lease)))
        stored[number] = text, used
    # PostgreSQL runs statements that are sent together as one transaction.
    with contextlib.nullcontext() if is_shared() else transaction.atomic():
        together(*writes)
    return stored


_store_apart = sync_to_async(_store, thread_sensitive=False, executor=THREAD)

partial_replies = PartialReplyWriter()
