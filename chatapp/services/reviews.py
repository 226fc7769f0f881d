"""What a person says to a summary before it is applied: decided once, from whichever tab."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.context import budgets
from chatapp.models import Condensation, Conversation, Review
from chatapp.rendering.numbers import number
from chatapp.services.conversations import check_budget
from chatapp.services.errors import Refused

# Characters.
LONGEST_SUMMARY = 400_000
LONGEST_FOCUS = 2_000

ACCEPT, AGAIN, DISCARD = "accept", "again", "discard"


def answer_review(
    *, review: Review, user: User, decision: str, summary: str = "", focus: str = ""
) -> None:
    """Store what a person said; refused where something else was said before, or nobody asks.

    The decision is "accept", with their own ``summary`` where that differs, "again" for a new draft
    that keeps the ``focus`` above all, or "discard". The same once more does no harm.
    """
    if decision not in {ACCEPT, AGAIN, DISCARD}:
        raise Refused(_("This is no answer to a review. Reload the page."))
    asked = Review.objects.pending().filter(pk=review.pk)
    if not asked.exists():
        _refuse_unless_same(review, decision)
        return
    said: dict[str, str] = {"status": Review.Status.DISCARDED}
    if decision == ACCEPT:
        said = _accepted(review, summary)
    elif decision == AGAIN:
        said = _again(review, focus)
    with transaction.atomic():
        answered = {"answered_by": user, "answered_at": timezone.now(), "typed": None}
        changed = asked.change(**said, **answered)
        if changed and decision == AGAIN:
            attempt = Condensation.objects.filter(pk=review.condensation_id)
            attempt.change(focus=said["focus"])
    if not changed:
        _refuse_unless_same(review, decision)


def hold_review(*, review: Review, summary: str, focus: str) -> bool:
    """Have a summary wait for a person who is at work on it, however long; False where it does.

    What they have typed so far is kept for when they come back.
    """
    asked = Review.objects.pending().filter(pk=review.pk)
    typed = {"summary": plain_text(summary)[:LONGEST_SUMMARY], "focus": focus[:LONGEST_FOCUS]}
    asked.update(typed=typed)
    return bool(asked.exclude(applies_at=None).change(applies_at=None))


def edited_reduction(review: Review, summary: str) -> condense.Reduction:
    """Return what would be applied with this summary, the draft itself where it is the same."""
    proposal, text = review.read_proposal(), plain_text(summary)
    if text == plain_text(review.shown) or not (text and proposal.can_be_edited):
        return proposal.reduction
    return proposal.edited(text, budgets.COUNTER)


def plain_text(summary: str) -> str:
    """Return a text as it is kept, whatever line ends a browser gave it."""
    return condense.well_formed(summary).replace("\r\n", "\n").replace("\r", "\n").strip()


def _accepted(review: Review, summary: str) -> dict[str, str]:
    text = plain_text(summary)
    edits = review.read_proposal().can_be_edited and text != plain_text(review.shown)
    if not edits:
        return {"status": Review.Status.ACCEPTED}
    if not text:
        raise Refused(_("The summary is empty. Discard it if nothing is to be applied."))
    if len(text) > LONGEST_SUMMARY:
        raise Refused(_("This summary is too long."))
    made = edited_reduction(review, text)
    before, after = made.tokens_before.value, made.tokens_after.value
    if after >= before:
        said = _(
            "With this summary the context would not get smaller: %(before)s → %(after)s tokens."
        )
        raise Refused(said % {"before": number(before), "after": number(after)})
    return {"status": Review.Status.EDITED, "text": text}


def _again(review: Review, focus: str) -> dict[str, str]:
    if not review.read_proposal().by_model:
        raise Refused(_("No model wrote this, so it can't be written again."))
    pk = review.condensation.conversation_id
    check_budget(Conversation.objects.with_month_budget().get(pk=pk))
    return {"status": Review.Status.AGAIN, "focus": plain_text(focus)[:LONGEST_FOCUS]}


_SAME = {
    ACCEPT: {Review.Status.ACCEPTED, Review.Status.EDITED, Review.Status.EXPIRED},
    AGAIN: {Review.Status.AGAIN},
    DISCARD: {Review.Status.DISCARDED},
}


def _refuse_unless_same(review: Review, decision: str) -> None:
    review.refresh_from_db(fields=["status"])
    if review.status in {Review.Status.PENDING, Review.Status.WITHDRAWN}:
        raise Refused(_("Nobody waits for this any more: the condensation was stopped."))
    if review.status not in _SAME[decision]:
        raise Refused(_("This was decided already, in another tab."))
