"""Proposal: a summary that waits for a person, with what it would come to."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import condense
from chatapp.condensation import summary_reviews
from chatapp.condensation.attempt_log import receipt_of
from chatapp.context.sizes import Scale
from chatapp.context.turn_context import system_of
from chatapp.markdown import render_markdown
from chatapp.models import ModelCall, Review, message_store
from chatapp.toolbox.toolbox import folder_of
from chatapp.tools.workspace import Workspace
from chatapp.transcript.labels import AttemptWords, FactGroup, fact_groups, facts_kept


@dataclass(frozen=True, slots=True)
class Figures:
    """What would become of the context with one summary: its size, and which facts it keeps.

    ``html`` is the summary itself, safe to show.
    """

    tokens_before: int
    tokens_after: int
    saved_percent: float
    facts: Sequence[FactGroup]
    facts_kept: str
    html: str


@dataclass(frozen=True)
class ShownReview(AttemptWords):
    """A review as the page shows it; what was paid for all drafts so far is its ``cost``.

    ``summary`` and ``focus`` are what somebody has typed, or else what they would begin with.
    """

    review: Review
    proposal: condense.Proposal
    summary: str
    focus: str
    figures: Figures
    cost: Decimal | None
    cost_measured: bool


def read_review(review_pk: int) -> ShownReview:
    """Return a review that waits."""
    reviews = Review.objects.select_related("condensation__conversation")
    review = reviews.get(pk=review_pk)
    attempt = review.condensation
    spent = ModelCall.objects.filter(condensation=attempt).spent()
    typed = review.typed or {"summary": review.shown, "focus": attempt.focus}
    return ShownReview(
        attempt=attempt,
        review=review,
        proposal=review.read_proposal(),
        summary=typed["summary"],
        focus=typed["focus"],
        figures=read_figures(review, typed["summary"]),
        **spent,
    )


def read_figures(review: Review, summary: str) -> Figures:
    """Return what would become of the context with this summary."""
    reduction = summary_reviews.edited_reduction(review, summary)
    conversation = review.condensation.conversation
    effective = message_store.read_effective(conversation.pk)
    on_disk = Workspace(folder_of(conversation)).holds
    receipt = receipt_of(conversation.pk, reduction, effective, on_disk)
    before, after = reduction.tokens_before.value, reduction.tokens_after.value
    if profile := conversation.profile:
        kept = condense.replace_hidden(effective, reduction.hidden, reduction.message)
        scale = Scale.read(conversation, profile, system_of(conversation, profile))
        # The model has not seen it yet, so nothing of it was measured.
        scale.forget()
        after = scale.weigh(kept).value
    return Figures(
        tokens_before=before,
        tokens_after=after,
        saved_percent=100 * (1 - after / max(1, before)),
        facts=fact_groups(receipt),
        facts_kept=facts_kept(receipt),
        html=render_markdown(summary),
    )
