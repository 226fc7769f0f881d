"""Going back in a conversation, and taking back what was done to its context."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Router
from pydantic import Field

from chatapp import services
from chatapp.api.conversations import Limit, own_conversation
from chatapp.api.door import Call
from chatapp.api.paging import by_moment
from chatapp.api.record_shapes import AttemptShape, RewindShape, UndoShape
from chatapp.api.shapes import ConversationShape, Page
from chatapp.api.wishes import LARGEST, GoingBack
from chatapp.live import turns
from chatapp.models import Condensation, Conversation, Rewind

router = Router(tags=["History"])

Later = Annotated[int, Field(ge=0, le=LARGEST)]


def resting_conversation(call: Call, pk: uuid.UUID) -> Conversation:
    """Return a conversation of who asks, without what is only on record as running in it."""
    conversation = own_conversation(call, pk)
    turns.close_left_over(conversation)
    return conversation


@router.get("/conversations/{uuid:pk}/rewinds", response=Page[RewindShape], summary="List rewinds")
def list_rewinds(
    request: Call, pk: uuid.UUID, after: str = "", limit: Limit = 40
) -> dict[str, Any]:
    """List what was set aside, the latest first: by going back, an edit, or another answer."""
    own = Rewind.objects.filter(conversation=own_conversation(request, pk))
    return by_moment(own.order_by("-created_at", "-pk"), "created_at", after, limit)


@router.post("/conversations/{uuid:pk}/rewinds", response={201: RewindShape}, summary="Go back")
def rewind_conversation(request: Call, pk: uuid.UUID, wanted: GoingBack) -> Rewind:
    """Go back to before a message; what was said since is set aside, and nothing is deleted."""
    conversation = resting_conversation(request, pk)
    with services.saving():
        made = services.rewind_conversation(
            conversation=conversation, to_seq=wanted.to_seq, key=wanted.key, files=wanted.files
        )
    turns.announce_change(pk)
    return made


@router.post(
    "/conversations/{uuid:pk}/rewinds/{uuid:rewind_pk}/undo",
    response=RewindShape,
    summary="Undo a rewind",
)
def undo_rewind(request: Call, pk: uuid.UUID, rewind_pk: uuid.UUID) -> Rewind:
    """Show again what a rewind set aside; once more it changes nothing."""
    rewind = get_object_or_404(Rewind, pk=rewind_pk, conversation=resting_conversation(request, pk))
    with services.saving():
        services.undo_rewind(rewind=rewind)
    turns.announce_change(pk)
    rewind.refresh_from_db()
    return rewind


@router.post(
    "/conversations/{uuid:pk}/condensations/{uuid:attempt_pk}/undo",
    response=AttemptShape,
    summary="Undo a condensation",
)
def undo_condensation(
    request: Call, pk: uuid.UUID, attempt_pk: uuid.UUID, later: Later = 0
) -> Condensation:
    """Show the model again what a condensation hid; once more it changes nothing.

    One that ``later`` ones stand on is undone together with them, where it is said how many.
    """
    return _change(request, pk, attempt_pk, partial(services.undo_condensation, later=later))


@router.get(
    "/conversations/{uuid:pk}/condensations/{uuid:attempt_pk}/undo",
    response=UndoShape,
    summary="Preview an undo",
)
def preview_undo(request: Call, pk: uuid.UUID, attempt_pk: uuid.UUID) -> services.Undo:
    """Say what undoing this and all that stand on it would come to; nothing is changed."""
    attempt = get_object_or_404(resting_conversation(request, pk).condensations, pk=attempt_pk)
    with services.saving():
        return services.preview_undo(condensation=attempt)


@router.post(
    "/conversations/{uuid:pk}/condensations/{uuid:attempt_pk}/redo",
    response=AttemptShape,
    summary="Redo a condensation",
)
def redo_condensation(request: Call, pk: uuid.UUID, attempt_pk: uuid.UUID) -> Condensation:
    """Hide again what a condensation hid until it was undone; once more it changes nothing.

    What was undone together is redone together.
    """
    return _change(request, pk, attempt_pk, services.redo_condensation)


@router.post(
    "/conversations/{uuid:pk}/messages/{int:seq}/fork",
    response={201: ConversationShape},
    summary="Fork a conversation",
)
def fork_conversation(request: Call, pk: uuid.UUID, seq: int) -> Conversation:
    """Begin a conversation that goes on from a message, or from before a condensation.

    The number is that of the message, or of the summary. Each time makes another fork.
    """
    with services.saving():
        return services.fork_conversation(conversation=own_conversation(request, pk), seq=seq)


def _change(
    call: Call, pk: uuid.UUID, attempt_pk: uuid.UUID, change: Callable[..., None]
) -> Condensation:
    attempt = get_object_or_404(resting_conversation(call, pk).condensations, pk=attempt_pk)
    with services.saving():
        change(condensation=attempt)
    turns.announce_change(pk)
    attempt.refresh_from_db()
    return attempt
