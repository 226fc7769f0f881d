"""Attempts: a line for each, on a page or in a table, and the whole record of one."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.utils.text import capfirst

import condense
from chatapp.models import Condensation, ModelCall, Profile, Review
from chatapp.page.transcript import labels
from chatapp.page.transcript.labels import AttemptWords
from chatapp.page.transcript.originals import MAX_SENTENCES, changes
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _
from chatapp.providers.specs import short_name

# A cell that a spreadsheet would take for a formula begins with one of these.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = (
    "kind", "status", "trigger", "strategy", "profile_name", "model", "tokens_before",
    "tokens_before_measured", "tokens_after", "tokens_after_measured", "messages_hidden",
    "results_hidden", "condensations_hidden", "threshold", "allowed", "context_window",
    "writer_name", "writer_model", "cost_measured", "error",
)  # fmt: skip
# All that is read for it, of an attempt and of its conversation.
TABLE_COLUMNS = (
    *_COLUMNS, "sentences", "started_at", "finished_at", "cost", "predicted_cost", "total_cost",
    "total_measured", "work_seconds", "review_seconds", "rating", "rating_words",
    "conversation__title",
)  # fmt: skip


@dataclass(frozen=True)
class AttemptLine(AttemptWords):
    """One attempt."""

    status: str  # its state now; its result may have been rewound
    words: Sequence[str]  # cause, strategy and result
    instead: str  # the attempt that replaced one without a result


def attempt_line(attempt: Condensation) -> AttemptLine:
    """Return the line of an attempt."""
    failed = attempt.status == Condensation.Status.FAILED
    succeeded = attempt.status == Condensation.Status.SUCCEEDED
    was_rewound = succeeded and getattr(attempt, "gone_with", None) is not None
    said = AttemptWords(attempt)
    strategy = labels.strategy_name(attempt.strategy)
    status = "rewound" if was_rewound else attempt.status
    gone = _("Rewound") if was_rewound else ""
    if attempt.status == Condensation.Status.UNDONE:
        gone = capfirst(attempt.get_status_display())
    words = [gone, strategy, said.how, said.lacks_summary]
    words += [said.trigger_text, said.broken_promise, said.hidden_text]
    words += [said.facts_kept, said.rated]
    return AttemptLine(
        attempt=attempt,
        status=status,
        words=[one for one in words if one],
        instead=labels.instead_text(attempt.made_for) if failed or attempt.made_for_id else "",
    )


def attempts_as_csv(attempts: Iterable[Condensation]) -> str:
    """Return a line for each attempt, below the names of the columns."""
    text = io.StringIO()
    table = csv.writer(text)
    for place, row in enumerate(_rows(attempts)):
        if not place:
            table.writerow(row)
        table.writerow(
            f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
            for value in row.values()
        )
    return text.getvalue()


def attempts_as_json(attempts: Iterable[Condensation]) -> str:
    """Return an object for each attempt, in a list."""
    return json.dumps([*_rows(attempts)], ensure_ascii=False, indent=1)


def _rows(attempts: Iterable[Condensation]) -> Iterator[dict[str, Any]]:
    """Yield each attempt's columns; its error as stored, and in the reader's language."""
    for attempt in attempts:
        yield {
            "id": str(attempt.pk),
            "conversation": str(attempt.conversation_id),
            "title": attempt.conversation.title,
            "started_at": attempt.started_at.isoformat(),
            "seconds": attempt.duration,
            "review_seconds": attempt.review_seconds,
            "cost": _usd(attempt.whole_cost),
            "predicted_cost": _usd(attempt.predicted_cost),
            **{name: getattr(attempt, name) for name in _COLUMNS},
            "cost_measured": attempt.whole_measured,
            "error_words": in_words(attempt.error),
            "rating": attempt.rating,
            "rating_words": attempt.rating_words,
            "tries": " ".join([one.reason for one in AttemptWords(attempt).tries]),
        }


def _usd(cost: Decimal | None) -> str | None:
    return None if cost is None else format(cost.normalize(), "f")


@dataclass(frozen=True, slots=True)
class Net:
    """In USD: the price of the saved tokens in one more request, and the rest after the cost."""

    worth: Decimal
    left: Decimal | None  # None if no cost is known
    tokens_unpriced: int  # of profiles without a known price, worth nothing here


def net_of(owner: User, totals: Mapping[str, Any]) -> Net:
    """Return the net of the totals of an owner's attempts, at the input prices of today."""
    one_token = condense.Usage(input=1)
    own = Profile.objects.filter(owner=owner)
    # Records have earlier names, and a model's path was one.
    prices = {one.model: one.cost_of(one_token) for one in own}
    prices |= {one.name: one.cost_of(one_token) for one in own}
    worth, unpriced = Decimal(0), 0
    for name, tokens in totals["saved_by"].items():
        price = prices.get(name)
        worth += tokens * (price or 0)
        unpriced += tokens if price is None else 0
    cost = totals["cost"]
    return Net(worth, None if cost is None else worth - cost, unpriced)


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """One review that is over."""

    review: Review
    who: str  # answered
    lines: Sequence[tuple[str, str]] = ()  # changed by them
    cut: bool = False
    typed: str = ""  # before it was stopped without an answer


def review_lines(attempt: Condensation) -> list[ReviewLine]:
    """Return people's answers to the drafts of an attempt, in order."""
    answered = attempt.reviews.exclude(status=Review.Status.PENDING)
    return [_review_line(one) for one in answered.select_related("answered_by").order_by("ordinal")]


def _review_line(review: Review) -> ReviewLine:
    who = review.answered_by.get_username() if review.answered_by else ""
    if review.status != Review.Status.EDITED:
        typed = (review.typed or {}).get("summary", "")
        return ReviewLine(review, who, typed=typed if typed != review.shown else "")
    old, new = review.shown.splitlines(), review.text.splitlines()
    cut = max(len(old), len(new)) > MAX_SENTENCES
    lines = changes(old[:MAX_SENTENCES], new[:MAX_SENTENCES])
    return ReviewLine(review, who, list(lines), cut)


@dataclass(frozen=True, slots=True)
class PartCost:
    """One part of the calls: its tokens, and the ``predicted`` ones, None without a prediction.

    Costs are None once no price is known.
    """

    label: str
    tokens: int
    cost: Decimal | None
    predicted: int | None
    predicted_cost: Decimal | None


@dataclass(frozen=True)
class Record(AttemptWords):
    """An attempt with its decision, its tries, its calls and its result."""

    decision: str  # the numbers that it was based on
    distance: str  # counts since the condensation before
    rungs: Sequence[AttemptLine]  # its tries and itself
    calls: Sequence[ModelCall]
    spent: Sequence[PartCost]  # input, cache and output apart
    reviews: Sequence[ReviewLine]  # people's answers to its drafts
    undoable: bool = False


def read_record(attempt: Condensation) -> Record:
    """Return an attempt's record; its cost follows the attempt's size, not the conversation's."""
    head = attempt.made_for or attempt
    rungs = [*head.tried, head]
    counted = rungs if head == attempt else [attempt]
    calls = list(ModelCall.objects.filter(condensation__in=counted).order_by("pk"))
    return Record(
        attempt=attempt,
        decision=_(
            "{before:,} of {allowed:,} tokens allowed ({percent:%})",
            before=attempt.tokens_before,
            allowed=attempt.allowed,
            percent=100 * attempt.tokens_before / max(1, attempt.allowed),
        ),
        distance=_distance(attempt),
        rungs=[*map(attempt_line, rungs)],
        calls=calls,
        spent=_spent(attempt, calls),
        reviews=review_lines(attempt),
    )


def _distance(attempt: Condensation) -> str:
    """Return the growth since the condensation before, as a sentence, "" for the first."""
    whole = attempt.conversation
    made = whole.condensations.filter(started_at__lt=attempt.started_at, message__isnull=False)
    before = made.brief().select_related("message").newest_first().first()
    if before is None or before.message is None or before.tokens_after is None:
        return ""
    since = whole.messages.written().filter(
        seq__gt=before.message.seq, seq__lte=attempt.at_seq, holds_results=False
    )
    grown = attempt.tokens_before - before.tokens_after
    return _(
        "{count:,} message since the condensation before, {percent:%} of the window",
        "{count:,} messages since the condensation before, {percent:%} of the window",
        count=since.count(),
        percent=100 * max(0, grown) / max(1, attempt.context_window),
    )


_PARTS = ("input", "cache_read", "cache_write", "output")


def _spent(attempt: Condensation, calls: Sequence[ModelCall]) -> Sequence[PartCost]:
    """Return tokens by part, with costs if the profile's prices still give the billed total."""
    labels = (_("Input"), _("Read from the cache"), _("Written to the cache"), _("Output"))
    spent = [sum(getattr(call, f"tokens_{part}") for call in calls) for part in _PARTS]
    usage = attempt.predicted or condense.Usage()
    predicted = [getattr(usage, part) for part in _PARTS]
    # The profile that wrote the summary, if it is there still.
    model = attempt.writer_model or attempt.model
    profile = Profile.objects.filter(
        owner=attempt.conversation.owner_id,
        name__in=(attempt.writer_name or attempt.profile_name, short_name(model)),
        model=model,
    ).first()
    costs = _costs(profile, spent, attempt.whole_cost)
    predicted_costs = _costs(profile, predicted, attempt.predicted_cost)
    rows = zip(labels, spent, costs, predicted, predicted_costs, strict=True)
    return [
        PartCost(label, tokens, cost, other if attempt.predicted else None, other_cost)
        for label, tokens, cost, other, other_cost in rows
    ]


def _costs(
    profile: Profile | None, tokens: Sequence[int], total: Decimal | None
) -> Sequence[Decimal | None]:
    """Return the parts' costs by today's prices, None if their sum is not the billed total."""
    parts: list[dict[str, Any]] = [
        {part: count} for part, count in zip(_PARTS, tokens, strict=True)
    ]
    costs = [profile.cost_of(condense.Usage(**part)) if profile else None for part in parts]
    known = sum((cost or Decimal(0) for cost in costs), Decimal(0))
    if total is None or abs(known - total) > Decimal("0.000001"):
        return [None] * len(parts)
    return costs
