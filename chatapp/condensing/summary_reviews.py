"""The engine's reviewer, kept in the database: a review outlives this process."""

import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

import condense
from chatapp.agent import events
from chatapp.conversations.context import sizes
from chatapp.conversations.context.condense_requests import LONGEST_FOCUS, check_focus
from chatapp.conversations.conversations import check_spending
from chatapp.models import Condensation, Conversation, Review, Turn
from chatapp.models.database import lock, now
from chatapp.models.errors import Refused
from chatapp.project.sentences import translate as _
from chatapp.storage.answers import AnswerWait, refuse_unless_same, store_answer
from chatapp.storage.journal import ConversationJournal

# Seconds from one state of a summary that is shown to the next.
INTERVAL = 0.25

_PENDING = Review.Status.PENDING


class SummaryReviewer:
    """The engine's ``Reviewer`` over one run: by hand if requested, else by the settings."""

    def __init__(self, journal: ConversationJournal) -> None:
        self.run, self.saver = journal.run, journal.saver
        self.audience = journal.saver.audience
        self._taken_up: Review | None = None
        # True if a summary by hand is to be reviewed.
        self.by_hand = self.run.request.review
        self._shows_all = False
        self._told, self._text = 0.0, ""
        self._answers = AnswerWait(self.saver)
        self.leave, self.wake = self._answers.leave, self._answers.wake

    async def left_open(self) -> Review | None:
        """Return the review that this turn waited for in another process, until it is taken up."""
        if not self.run.turn.waits:
            return None
        return await self.saver.read(_newest, self.run.turn)

    def take_up(self, review: Review) -> tuple[str, condense.Reduction, condense.Reduction | None]:
        """Return attempt, draft and refused summary of a review that goes on."""
        self._taken_up, self._shows_all = review, True
        proposal = review.read_proposal()
        return str(review.condensation_id), proposal.reduction, proposal.refused

    async def heard(self, attempt: condense.Attempt, read: Callable[[], str]) -> None:
        """Publish the summary so far to its reviewers, a few times a second at most."""
        moment = time.monotonic()
        if self._is_wanted(attempt) and moment - self._told >= INTERVAL:
            self._told, told, self._text = moment, self._text, read()
            # A summary that is written anew is sent from its first letter again.
            at = len(told) if self._text.startswith(told) else 0
            self.audience.publish(events.SummaryStreamed(self._text[at:], at))

    async def review(
        self, attempt: condense.Attempt, proposal: condense.Proposal
    ) -> condense.Accept | condense.WriteAgain:
        """Return a person's answer; raise Discarded if they do not want the summary."""
        if not self._is_wanted(attempt, proposal.can_be_written_again):
            return condense.Accept()
        review = await self._wait(attempt, proposal)
        match review.status:
            case Review.Status.AGAIN:
                return condense.WriteAgain(review.focus)
            case Review.Status.USED:
                return condense.Accept(uses_refused=True)
            case Review.Status.EDITED:
                return condense.Accept(review.text)
            case Review.Status.ACCEPTED | Review.Status.EXPIRED:
                return condense.Accept()
        raise condense.Discarded(condense.noop("The summary was discarded before it was applied."))

    def _is_wanted(self, attempt: condense.Attempt, by_model: bool = True) -> bool:
        """Return True if this summary is to be reviewed; one by rule only on request."""
        if self._shows_all or attempt.trigger is condense.Trigger.MANUAL:
            return self._shows_all or self.by_hand
        return by_model and self.run.preferences.review_automatic

    async def _wait(self, attempt: condense.Attempt, proposal: condense.Proposal) -> Review:
        review = await self._answers.wait(
            partial(self._open, attempt, proposal),
            asked=lambda review: events.ReviewAsked(review.pk),
            expire=self._expire,
            stays=condense.noop("The server is being stopped. The summary waits."),
        )
        await self.saver.save(self.run.turn.go_on, Turn.Doing.CONDENSING)
        self.audience.publish(events.ReviewAnswered())
        return review

    @transaction.atomic
    def _open(self, attempt: condense.Attempt, proposal: condense.Proposal) -> Review:
        """Return the review of a draft, which may have been answered since a restart."""
        lock(Conversation, self.run.conversation.pk)
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
            applies_at=None if by_hand else now() + waits,
        )
        review.enter()
        return review

    def _expire(self, review: Review) -> None:
        """Apply the review's draft, unless somebody has answered at that very moment."""
        with self.run.turn.holding():
            overdue = Review.objects.pending().filter(pk=review.pk, applies_at__lte=now())
            overdue.change(status=Review.Status.EXPIRED, answered_at=timezone.now())


def _newest(turn: Turn) -> Review | None:
    """Return the review that a turn waits for, or that was answered while no process ran it."""
    running = Condensation.objects.filter(turn=turn, status=Condensation.Status.RUNNING)
    return Review.objects.filter(condensation__in=running).order_by("ordinal").last()


# Characters.
LONGEST_SUMMARY = 400_000

ACCEPT, AGAIN, DISCARD, USE = "accept", "again", "discard", "use"


def answer_review(
    *,
    review: Review,
    user: User,
    decision: str,
    summary: str = "",
    focus: str = "",
    edits: bool = False,
) -> None:
    """Store a person's answer; raise Refused after another answer or without a question.

    The decision is "accept", with their own ``summary`` if that differs, "again" for a new draft
    that keeps the ``focus`` above all, "use" for the summary that a rule refused, or "discard".
    Repeating it changes nothing. A turn that waits without a process is enqueued, in the same
    transaction.
    """
    if decision not in _SAME:
        raise Refused(_("That answer doesn't fit the review. Reload the page."))
    asked, waiting = Review.objects.pending().filter(pk=review.pk), review.condensation.turn
    if waiting is None or not asked.exists():
        _refuse_unless_same(review, decision)
        return
    if decision == ACCEPT and edits:
        is_refused = edited_reduction(review, summary) == review.read_proposal().refused
        decision = USE if is_refused else ACCEPT
    said: dict[str, str] = {"status": Review.Status.DISCARDED}
    if decision == ACCEPT:
        said = _accepted(review, summary)
    elif decision == AGAIN:
        said = _again(review, focus)
    elif decision == USE:
        said = _used(review)
    with transaction.atomic():
        if store_answer(asked, waiting, **said, answered_by=user, typed=None):
            if decision == AGAIN:
                attempt = Condensation.objects.filter(pk=review.condensation_id)
                attempt.change(focus=said["focus"])
            return
    _refuse_unless_same(review, decision)


def hold_review(*, review: Review, summary: str, focus: str) -> bool:
    """Have a summary wait for a person who is at work on it; return False if it waits already.

    The text that they have typed so far is kept for their return.
    """
    asked = Review.objects.pending().filter(pk=review.pk)
    typed = {"summary": plain_text(summary)[:LONGEST_SUMMARY], "focus": focus[:LONGEST_FOCUS]}
    asked.update(typed=typed)
    return bool(asked.exclude(applies_at=None).change(applies_at=None))


def edited_reduction(review: Review, summary: str, *, edits: bool = True) -> condense.Reduction:
    """Return the reduction with this summary, the draft itself if it is the same.

    A person who ``edits`` a refused summary, and has changed nothing yet, would apply that.
    """
    proposal, text = review.read_proposal(), plain_text(summary)
    if edits and proposal.refused and text == plain_text(proposal.refused.summary):
        return proposal.refused
    if not (text and _is_edited(review, proposal, text)):
        return proposal.reduction
    return proposal.edited(text, sizes.COUNTER)


def _is_edited(review: Review, proposal: condense.Proposal, text: str) -> bool:
    """Compare a text with the shown summary and the model's; return True if it differs."""
    known = {plain_text(review.shown), plain_text(proposal.written.summary)}
    return proposal.can_be_edited and text not in known


def plain_text(summary: str) -> str:
    """Return a text as it is kept, with uniform line ends."""
    return condense.well_formed(summary).replace("\r\n", "\n").replace("\r", "\n").strip()


def _accepted(review: Review, summary: str) -> dict[str, str]:
    text = plain_text(summary)
    if not _is_edited(review, review.read_proposal(), text):
        return {"status": Review.Status.ACCEPTED}
    if not text:
        raise Refused(_("The summary is empty. Discard it instead."))
    if len(text) > LONGEST_SUMMARY:
        raise Refused(_("This summary is too long."))
    made = edited_reduction(review, text)
    before, after = made.tokens_before.value, made.tokens_after.value
    if after >= before:
        said = _(
            "With this summary the context would not get smaller: {before:,} → {after:,} tokens.",
            before=before,
            after=after,
        )
        raise Refused(said)
    return {"status": Review.Status.EDITED, "text": text}


def _again(review: Review, focus: str) -> dict[str, str]:
    if not review.read_proposal().can_be_written_again:
        raise Refused(_("No model wrote this, so it can't be written again."))
    check_spending(review.condensation.conversation_id)
    check_focus(focus := plain_text(focus))
    return {"status": Review.Status.AGAIN, "focus": focus}


def _used(review: Review) -> dict[str, str]:
    if not review.read_proposal().refused:
        raise Refused(_("No summary was refused here."))
    return {"status": Review.Status.USED}


_SAME = {
    USE: {Review.Status.USED},
    ACCEPT: {
        *(Review.Status.ACCEPTED, Review.Status.EDITED, Review.Status.EXPIRED),
        # The refused summary, accepted while it was edited.
        Review.Status.USED,
    },
    AGAIN: {Review.Status.AGAIN},
    DISCARD: {Review.Status.DISCARDED},
}


def _refuse_unless_same(review: Review, decision: str) -> None:
    nobody_waits = _("Nobody waits for this any more: the condensation was stopped.")
    refuse_unless_same(review, _SAME[decision], nobody_waits=nobody_waits)
