"""What runs in a conversation: looked at, stopped, begun by hand, and told what it asks."""

import asyncio
import contextvars
import uuid
from collections.abc import Coroutine
from typing import Any

from asgiref.sync import async_to_sync
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from ninja import Router

from chatapp import services
from chatapp.api.conversations import Limit, own_conversation
from chatapp.api.door import Call
from chatapp.api.paging import by_moment
from chatapp.api.record_shapes import ReviewShape
from chatapp.api.shapes import Page, QuestionShape, TurnShape
from chatapp.api.wishes import Answer, Condensing, ReviewAnswer
from chatapp.live import protocol, turns
from chatapp.models import Question, Review, Turn

router = Router(tags=["Turns"])


@router.get("/conversations/{uuid:pk}/turns", response=Page[TurnShape], summary="List turns")
def list_turns(request: Call, pk: uuid.UUID, after: str = "", limit: Limit = 40) -> dict[str, Any]:
    """List turns, the newest first; the first one may be running."""
    own = Turn.objects.filter(conversation=own_conversation(request, pk)).latest_first()
    return by_moment(own, "started_at", after, limit)


@router.post(
    "/conversations/{uuid:pk}/turns/{uuid:turn_pk}/stop",
    response={202: TurnShape},
    summary="Stop a turn",
)
def stop_turn(request: Call, pk: uuid.UUID, turn_pk: uuid.UUID) -> Turn:
    """Stop a turn, which takes a moment: what it has written is kept. One that is over stays so."""
    turn = get_object_or_404(Turn, conversation=own_conversation(request, pk), pk=turn_pk)
    turns.stop_soon(pk, turn.pk)
    return turn


@router.post(
    "/conversations/{uuid:pk}/condense", response={202: TurnShape | None}, summary="Condense now"
)
def condense_now(request: Call, pk: uuid.UUID, wanted: Condensing) -> Turn | None:
    """Begin a condensation, and show its turn; while another turn runs, it follows its step."""
    conversation = own_conversation(request, pk)
    command = protocol.StartCondensing(wanted.nonce, wanted.focus, review=wanted.review)
    with services.saving():
        _wait_for(turns.condense_now(conversation, command))
    return conversation.turns.filter(nonce=wanted.nonce).first()


@async_to_sync
async def _wait_for(work: Coroutine[Any, Any, None]) -> None:
    # A request's own context ends with it, and takes the threads for its queries along.
    await asyncio.create_task(work, context=contextvars.Context())


@router.get(
    "/conversations/{uuid:pk}/questions", response=list[QuestionShape], summary="List questions"
)
def list_questions(request: Call, pk: uuid.UUID) -> QuerySet[Question]:
    """List what a turn waits for a person to say."""
    asked = Question.objects.filter(turn__conversation=own_conversation(request, pk))
    return asked.pending().order_by("pk")


@router.post(
    "/conversations/{uuid:pk}/questions/{int:question_pk}/answer",
    response=QuestionShape,
    summary="Answer a question",
)
def answer_question(request: Call, pk: uuid.UUID, question_pk: int, said: Answer) -> Question:
    """Let a tool run or not, or tell the model what it asked; the same once more does no harm."""
    conversation = own_conversation(request, pk)
    questions = Question.objects.select_related("turn").filter(turn__conversation=conversation)
    question = get_object_or_404(questions, pk=question_pk)
    with services.saving():
        services.answer_question(question=question, decision=said.decision, words=said.words)
    turns.announce_answer(pk)
    question.refresh_from_db()
    return question


@router.get("/conversations/{uuid:pk}/reviews", response=list[ReviewShape], summary="List reviews")
def list_reviews(request: Call, pk: uuid.UUID) -> QuerySet[Review]:
    """List the summary that waits for a word on it before it applies, if one does."""
    shown = Review.objects.filter(condensation__conversation=own_conversation(request, pk))
    return shown.pending().order_by("pk")


@router.post(
    "/conversations/{uuid:pk}/reviews/{int:review_pk}/answer",
    response=ReviewShape,
    summary="Answer a review",
)
def answer_review(request: Call, pk: uuid.UUID, review_pk: int, said: ReviewAnswer) -> Review:
    """Apply a summary, as it is or changed, have it written again, or discard it.

    The same once more does no harm.
    """
    reviews = Review.objects.select_related("condensation__conversation")
    shown = reviews.filter(condensation__conversation=own_conversation(request, pk))
    review = get_object_or_404(shown, pk=review_pk)
    with services.saving():
        services.answer_review(
            review=review,
            user=request.auth,
            decision=said.decision,
            summary=review.shown if said.summary is None else said.summary,
            focus=said.focus,
        )
    turns.announce_answer(pk)
    review.refresh_from_db()
    return review
