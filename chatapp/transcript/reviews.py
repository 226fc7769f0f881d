"""What people said to the drafts of an attempt."""

from collections.abc import Sequence
from dataclasses import dataclass

from chatapp.models import Condensation, Review
from chatapp.transcript.originals import MAX_SENTENCES, changes


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """One review that is over: ``who`` answered, and the ``lines`` that they changed.

    What was stopped before it was answered has what was ``typed`` until then.
    """

    review: Review
    who: str
    lines: Sequence[tuple[str, str]] = ()
    cut: bool = False
    typed: str = ""


def review_lines(attempt: Condensation) -> list[ReviewLine]:
    """Return what people said to the drafts of an attempt, in order."""
    answered = attempt.reviews.exclude(status=Review.Status.PENDING)
    return [_line(one) for one in answered.select_related("answered_by").order_by("ordinal")]


def _line(review: Review) -> ReviewLine:
    who = review.answered_by.get_username() if review.answered_by else ""
    if review.status != Review.Status.EDITED:
        typed = (review.typed or {}).get("summary", "")
        return ReviewLine(review, who, typed=typed if typed != review.shown else "")
    old, new = review.shown.splitlines(), review.text.splitlines()
    cut = max(len(old), len(new)) > MAX_SENTENCES
    lines = changes(old[:MAX_SENTENCES], new[:MAX_SENTENCES])
    return ReviewLine(review, who, list(lines), cut)
