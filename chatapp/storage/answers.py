"""Answers of people: a turn waits for them, and each question is decided once."""

import asyncio
from collections.abc import Callable, Container
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from chatapp.agent import events
from chatapp.agent.errors import LeftWaiting
from chatapp.models import Question, Review, Turn
from chatapp.models.database import now
from chatapp.models.errors import Refused
from chatapp.models.questions import QuestionQuerySet, ReviewQuerySet
from chatapp.operations.background_jobs import enqueue_turn
from chatapp.project.sentences import translate as _
from chatapp.storage.partial_replies import RetriedWrites

PENDING, WITHDRAWN = "pending", "withdrawn"


class AnswerWait:
    """The wait of one turn for a person; one question or review is open at a time."""

    def __init__(self, saver: RetriedWrites) -> None:
        self.saver = saver
        self._news = asyncio.Event()
        self._leaving = False

    def leave(self) -> None:
        """End this wait and all later ones with LeftWaiting."""
        self._leaving = True
        self.wake()

    def wake(self) -> None:
        """Read the answer, if there is one by now."""
        self._news.set()

    async def wait[Asked: (Question, Review)](
        self,
        ask: Callable[[], Asked],
        *,
        asked: Callable[[Asked], events.TurnEvent],
        expire: Callable[[Asked], None] | None = None,
        stays: str,
    ) -> Asked:
        """Return the row that ``ask`` stores or finds, once it is answered.

        ``asked`` makes the event that is published while it is open, and ``expire`` closes a row
        whose time is over. Raises LeftWaiting with the sentence ``stays`` when the process ends
        first.
        """
        self._news.clear()
        row = await self.saver.save(ask)
        if row.status == PENDING:
            self.saver.audience.publish(asked(row))
        while row.status == PENDING and not self._leaving:
            left = await self.saver.read(_seconds_until, row.applies_at) if row.applies_at else None
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                if expire:
                    await self.saver.save(expire, row)
            self._news.clear()
            row = await self.saver.read(type(row).objects.get, pk=row.pk)
        if self._leaving:
            # Also after an answer at this very moment: the process that takes the turn up reads it.
            raise LeftWaiting(stays)
        return row


def _seconds_until(moment: datetime) -> float:
    return max(0.0, (moment - now()).total_seconds())


def store_answer(
    asked: QuestionQuerySet | ReviewQuerySet,
    turn: Turn,
    **answer: Any,
) -> bool:
    """Store the answer to an open row; return False if it is not open any more.

    A turn that waits without a process is enqueued in the same transaction.
    """
    with transaction.atomic():
        locked = Turn.objects.locked(turn)
        changed = asked.change(answered_at=timezone.now(), **answer)
        if changed:
            locked.offer(enqueue_turn)
    return bool(changed)


def refuse_unless_same(
    row: Question | Review, statuses: Container[str], *, nobody_waits: str
) -> None:
    """Raise Refused unless a closed row has one of these statuses already."""
    row.refresh_from_db(fields=["status"])
    if row.status in {PENDING, WITHDRAWN}:
        raise Refused(nobody_waits)
    if row.status not in statuses:
        raise Refused(_("This was decided already, in another tab."))
