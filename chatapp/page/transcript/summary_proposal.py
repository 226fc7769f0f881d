"""Proposal: a summary that waits for a person, with the context it would lead to."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from django.utils import timezone

import condense
from chatapp.condensing import summary_reviews
from chatapp.condensing.attempt_log import receipt_of
from chatapp.conversations.context.sizes import Scale
from chatapp.conversations.context.turn_context import terms_with
from chatapp.conversations.toolbox.toolbox import folder_of
from chatapp.models import Review, message_store
from chatapp.models.calls import taken_by
from chatapp.page.markdown import render_markdown
from chatapp.page.transcript.labels import AttemptWords
from chatapp.page.transcript.originals import render_sourced
from chatapp.page.transcript.receipt_labels import FactGroup, fact_groups, facts_kept
from chatapp.page.transcript.summary_parts import SummaryPart, parts_of
from chatapp.project.languages import in_words
from chatapp.tools.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Figures:
    """The context with one summary: its size, and the facts that it keeps.

    ``reads`` is the text for the model, and ``focus`` the sentence that the person asked for.
    """

    tokens_before: int
    tokens_after: int
    saved_percent: float
    facts: Sequence[FactGroup]
    facts_kept: str
    reads: Sequence[SummaryPart]
    focus: condense.FocusFound | None


@dataclass(frozen=True)
class ShownReview(AttemptWords):
    """A review as the page shows it."""

    review: Review
    proposal: condense.Proposal
    summary: str  # as somebody has typed it, or as it would begin
    focus: str  # the same
    figures: Figures
    cost: Decimal | None  # of all its tries so far
    cost_measured: bool

    @property
    def refusal(self) -> str:
        """The reason the model's summary was refused for, "" without one."""
        refused = self.proposal.refused
        return in_words(refused.lacking[0]) if refused else ""

    @property
    def refused_html(self) -> str:
        """The refused summary as safe HTML."""
        return render_markdown(self.proposal.written.summary)


def read_review(review_pk: int) -> ShownReview:
    """Return a review that waits."""
    reviews = Review.objects.select_related("condensation__conversation")
    review = reviews.get(pk=review_pk)
    attempt = review.condensation
    taken, proposal = taken_by(attempt, timezone.now()), review.read_proposal()
    typed = review.typed or {"summary": proposal.written.summary, "focus": attempt.focus}
    return ShownReview(
        attempt=attempt,
        review=review,
        proposal=proposal,
        summary=typed["summary"],
        focus=typed["focus"],
        figures=read_figures(review, typed["summary"]),
        cost=taken["total_cost"],
        cost_measured=taken["total_measured"],
    )


def read_marked(review: Review) -> Sequence[SummaryPart]:
    """Return the summary as the model would read it, with sentences without a source marked."""
    attempt, summary = review.condensation, (review.typed or {}).get("summary", "")
    made = summary_reviews.edited_reduction(review, summary, edits=bool(review.typed))
    hidden = made.hidden_among(message_store.read_effective(attempt.conversation_id))
    render = partial(render_sourced, attempt, proposed=hidden)
    return parts_of(made.summary, made.message, made.folded, render)


def read_figures(review: Review, summary: str, *, edits: bool = False) -> Figures:
    """Return the context's figures with this summary, which a person ``edits`` or not."""
    reduction = summary_reviews.edited_reduction(review, summary, edits=edits)
    conversation = review.condensation.conversation
    effective = message_store.read_effective(conversation.pk)
    on_disk = Workspace(folder_of(conversation)).holds
    receipt = receipt_of(conversation.pk, reduction, effective, on_disk)
    before, after = reduction.tokens_before.value, reduction.tokens_after.value
    if profile := conversation.profile:
        kept = condense.replace_hidden(effective, reduction.hidden, reduction.message)
        scale = Scale.read(terms_with(conversation, profile))
        # The model has not seen it yet, so nothing of it was measured.
        scale.forget()
        after = scale.weigh(kept).value
    return Figures(
        tokens_before=before,
        tokens_after=after,
        saved_percent=100 * (1 - after / max(1, before)),
        facts=fact_groups(receipt),
        facts_kept=facts_kept(receipt),
        reads=parts_of(reduction.summary, reduction.message, reduction.folded),
        focus=condense.find_focus(
            review.condensation.focus, reduction.hidden_among(effective), [reduction.message]
        ),
    )
