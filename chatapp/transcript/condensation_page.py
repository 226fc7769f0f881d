"""Page of one attempt: all that is on record of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

import condense
from chatapp.models import Condensation, ModelCall, Profile, Review
from chatapp.number_formats import number
from chatapp.transcript.condensation_list import AttemptLine, attempt_lines
from chatapp.transcript.labels import AttemptWords
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


@dataclass(frozen=True, slots=True)
class Spent:
    """What one part of the calls took, and was ``predicted`` to take; None where nothing was.

    Costs are None where no price is known any more.
    """

    label: str
    tokens: int
    cost: Decimal | None
    predicted: int | None
    predicted_cost: Decimal | None


@dataclass(frozen=True)
class Record(AttemptWords):
    """An attempt with what decided, what was tried, what was called for it, and what came of it.

    ``rungs`` are all attempts of the same moment, this one among them. ``decision`` has the
    numbers, ``distance`` says what came since the condensation before, ``spent`` tells input,
    cache and output apart, and ``reviews`` are what people said to its drafts.
    """

    decision: str
    distance: str
    at: str
    rungs: Sequence[AttemptLine]
    calls: Sequence[ModelCall]
    spent: Sequence[Spent]
    reviews: Sequence[ReviewLine]
    undoable: bool = False


def read_record(attempt: Condensation) -> Record:
    """Return an attempt's record; costs what the attempt had, whatever else is stored."""
    made, calls = attempt.message, list(attempt.calls.order_by("pk"))
    compared = {
        "before": number(attempt.tokens_before),
        "allowed": number(attempt.allowed),
        "percent": number(100 * attempt.tokens_before / max(1, attempt.allowed)),
    }
    same = attempt.conversation.condensations.filter(at_seq=attempt.at_seq, turn=attempt.turn_id)
    rungs = same.brief().select_related("conversation").order_by("started_at", "pk")
    return Record(
        attempt=attempt,
        decision=_("%(before)s of %(allowed)s tokens allowed (%(percent)s %%)") % compared,
        distance=_distance(attempt),
        at=f"{made.position}.{made.seq}" if made else str(attempt.at_seq),
        rungs=attempt_lines(rungs),
        calls=calls,
        spent=_spent(attempt, calls),
        reviews=review_lines(attempt),
    )


def _distance(attempt: Condensation) -> str:
    """Say how much came since the condensation before, "" where this is the first."""
    whole = attempt.conversation
    made = whole.condensations.filter(started_at__lt=attempt.started_at, message__isnull=False)
    before = made.brief().select_related("message").newest_first().first()
    if before is None or before.message is None or before.tokens_after is None:
        return ""
    since = whole.messages.written().filter(
        seq__gt=before.message.seq, seq__lte=attempt.at_seq, holds_results=False
    )
    grown = attempt.tokens_before - before.tokens_after
    count = since.count()
    said = ngettext(
        "%(count)s message since the condensation before, %(percent)s %% of the window",
        "%(count)s messages since the condensation before, %(percent)s %% of the window",
        count,
    )
    percent = 100 * max(0, grown) / max(1, attempt.context_window)
    return said % {"count": number(count), "percent": number(percent)}


_PARTS = ("input", "cache_read", "cache_write", "output")


def _spent(attempt: Condensation, calls: Sequence[ModelCall]) -> Sequence[Spent]:
    """Return tokens by part, at the profile's prices where these give what was billed."""
    labels = (_("Input"), _("Read from the cache"), _("Written to the cache"), _("Output"))
    spent = [sum(getattr(call, f"tokens_{part}") for call in calls) for part in _PARTS]
    usage = attempt.predicted or condense.Usage()
    predicted = [getattr(usage, part) for part in _PARTS]
    # The profile that wrote the summary, if it is there still.
    profile = Profile.objects.filter(
        owner=attempt.conversation.owner_id,
        name=attempt.writer_name or attempt.profile_name,
        model=attempt.writer_model or attempt.model,
    ).first()
    costs = _costs(profile, spent, attempt.cost)
    predicted_costs = _costs(profile, predicted, attempt.predicted_cost)
    rows = zip(labels, spent, costs, predicted, predicted_costs, strict=True)
    return [
        Spent(label, tokens, cost, other if attempt.predicted else None, other_cost)
        for label, tokens, cost, other, other_cost in rows
    ]


def _costs(
    profile: Profile | None, tokens: Sequence[int], total: Decimal | None
) -> Sequence[Decimal | None]:
    """Return what the parts cost by today's prices; nothing where these are others than then."""
    parts = [condense.Usage(**{part: count}) for part, count in zip(_PARTS, tokens, strict=True)]
    costs = [profile.cost_of(usage) if profile else None for usage in parts]
    known = sum((cost or Decimal(0) for cost in costs), Decimal(0))
    if total is None or abs(known - total) > Decimal("0.000001"):
        return [None] * len(parts)
    return costs
