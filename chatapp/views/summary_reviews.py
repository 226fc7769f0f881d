"""A summary before it applies: what it would come to, and what a person says to it."""

import uuid

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from chatapp.condensation import summary_reviews
from chatapp.models import Review
from chatapp.transcript import summary_proposal
from chatapp.turns import actions
from chatapp.views.common import Request, done, own_conversation, signed_in

ANSWERED = "review-answered"


@require_POST
@signed_in
def answer_review(request: Request, pk: uuid.UUID, review_pk: int) -> HttpResponse:
    """Apply a summary, as it is or changed, have it written again, or discard it."""
    summary_reviews.answer_review(
        review=_own_review(request, pk, review_pk),
        user=request.user,
        decision=request.POST.get("decision", ""),
        summary=request.POST.get("summary", ""),
        focus=request.POST.get("focus", ""),
    )
    actions.announce_answer(pk)
    return done(request, event=ANSWERED, to=reverse("chat", args=[pk]))


@require_POST
@signed_in
def show_figures(request: Request, pk: uuid.UUID, review_pk: int) -> HttpResponse:
    """Say how large the context would be with a summary as it is now, and what that keeps.

    Who asks is at work on it, so it does not apply by itself any more, and what they type is kept.
    Says nothing once it was answered: the page is told so anyway, perhaps after its last question.
    """
    review = _own_review(request, pk, review_pk)
    if review.status != Review.Status.PENDING:
        return HttpResponse(status=204)
    summary, focus = (request.POST.get(name, "") for name in ("summary", "focus"))
    if summary_reviews.hold_review(review=review, summary=summary, focus=focus):
        actions.announce_answer(pk)
        actions.announce_change(pk)
    figures = summary_proposal.read_figures(review, summary)
    context = {"figures": figures, "is_held": True}
    return render(request, "chat/_review_figures.html", context)


def _own_review(request: Request, pk: uuid.UUID, review_pk: int) -> Review:
    conversation = own_conversation(request, pk)
    reviews = Review.objects.select_related("condensation__conversation")
    return get_object_or_404(reviews, pk=review_pk, condensation__conversation=conversation)
