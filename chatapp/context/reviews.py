"""The engine's reviewer, kept in the database: what a person is shown outlives this process."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import Callable
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.agent import events
from chatapp.agent.errors import LeftWaiting
from chatapp.agent.ports import Audience
from chatapp.context.runs import Run
from chatapp.context.saving import Saver
from chatapp.models import Condensation, Review, Turn
from chatapp.models.reading import reading

# Seconds from one state of a summary that is shown to the next.
INTERVAL = 0.25

_PENDING = Review.Status.PENDING


class StoredReviewer:
    """The engine's ``Reviewer`` over one run: by hand where it is wanted, else by the settings."""

    def __init__(self, run: Run, *, saver: Saver, audience: Audience) -> None:
        """Take the run that waits, and who is shown what is written."""
        self.run = run
        self.saver = saver
        self.audience = audience
        self._taken_up: Review | None = None
        # Whether one by hand is to be reviewed.
        self.by_hand = run.reviews
        self._looked = self._shows_all = False
        self._told = 0.0
        self._news = asyncio.Event()
        self._leaving = False

    def leave(self) -> None:
        """Wait for nobody any more: what waits raises LeftWaiting."""
        self._leaving = True
        self.wake()

    def wake(self) -> None:
        """Look at what the person said."""
        self._news.set()

    async def left_open(self) -> tuple[str, condense.Reduction] | None:
        """Return the attempt and the draft that this turn waited for in another process."""
        review = await self._find_left_open()
        self._looked = True
        self._taken_up = review
        if review is None:
            return None
        self._shows_all = True
        return str(review.condensation_id), review.read_proposal().reduction

    async def is_left_open(self) -> bool:
        """Whether there is a draft that this turn waited for in another process."""
        return await self._find_left_open() is not None

    async def _find_left_open(self) -> Review | None:
        if self._looked or self.run.turn.status != Turn.Status.WAITING:
            return None
        return await reading(_newest)(self.run.turn)

    async def heard(self, attempt: condense.Attempt, read: Callable[[], str]) -> None:
        """Show how far the summary is, a few times a second at most."""
        now = time.monotonic()
        if self._is_wanted(attempt) and now - self._told >= INTERVAL:
            self._told = now
            self.audience.publish(events.SummaryStreamed(read()))

    async def review(
        self, attempt: condense.Attempt, proposal: condense.Proposal
    ) -> condense.Accept | condense.WriteAgain:
        """Return what a person says; raise Discarded where they do not want it."""
        if not self._is_wanted(attempt, proposal.by_model):
            return condense.Accept()
        review = await self._wait(attempt, proposal)
        match review.status:
            case Review.Status.AGAIN:
                return condense.WriteAgain(review.focus)
            case Review.Status.EDITED:
                return condense.Accept(review.text)
            case Review.Status.ACCEPTED | Review.Status.EXPIRED:
                return condense.Accept()
        raise condense.Discarded(_("The summary was discarded before it was applied."))

    def _is_wanted(self, attempt: condense.Attempt, by_model: bool = True) -> bool:
        """Whether somebody wants to see this; what was done by rule, and unasked, nobody does."""
        if self._shows_all or attempt.trigger is condense.Trigger.MANUAL:
            return self._shows_all or self.by_hand
        return by_model and self.run.preferences.review_automatic

    async def _wait(self, attempt: condense.Attempt, proposal: condense.Proposal) -> Review:
        self._news.clear()
        review = await self.saver.save(self._open, attempt, proposal)
        if review.status == _PENDING:
            self.audience.publish(events.ReviewAsked(review.pk))
        while review.status == _PENDING:
            if self._leaving:
                raise LeftWaiting(_("The server is being stopped; the summary waits."))
            if not await self._is_told(review):
                await self.saver.save(_expire, review)
            self._news.clear()
            review = await reading(Review.objects.get)(pk=review.pk)
        await self.saver.save(self.run.turn.go_on, Turn.Doing.CONDENSING)
        self.audience.publish(events.ReviewAnswered())
        return review

    async def _is_told(self, review: Review) -> bool:
        """Wait until there are news; False where the time for them is over."""
        until = review.applies_at
        left = max(0.0, (until - timezone.now()).total_seconds()) if until else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                return await self._news.wait()
        return False

    @transaction.atomic
    def _open(self, attempt: condense.Attempt, proposal: condense.Proposal) -> Review:
        """Return the review of a draft, which may have been answered since a restart."""
        self.run.turn.wait()
        attempt_id = uuid.UUID(attempt.id)
        if self._taken_up:
            review, self._taken_up = self._taken_up, None
            return Review.objects.get(pk=review.pk)
        waits = timedelta(seconds=self.run.preferences.review_seconds)
        by_hand = attempt.trigger is condense.Trigger.MANUAL
        review = Review.objects.create(
            condensation_id=attempt_id,
            ordinal=1 + Review.objects.filter(condensation=attempt_id).count(),
            shown=proposal.reduction.summary,
            proposal=proposal.to_json(),
            applies_at=None if by_hand else timezone.now() + waits,
        )
        review.enter()
        return review


def _newest(turn: Turn) -> Review | None:
    """Return the review that a turn waits for, or that was answered since nobody works on it."""
    running = Condensation.objects.filter(turn=turn, status=Condensation.Status.RUNNING)
    return Review.objects.filter(condensation__in=running).order_by("ordinal").last()


def _expire(review: Review) -> None:
    """Have it applied, unless somebody has said something at that very moment."""
    overdue = Review.objects.pending().filter(pk=review.pk, applies_at__lte=timezone.now())
    overdue.change(status=Review.Status.EXPIRED, answered_at=timezone.now())
