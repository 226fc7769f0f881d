"""Going back in a conversation, and taking back what was done to its context."""

import uuid
from collections.abc import Callable
from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Router

from chatapp import services
from chatapp.api.conversations import Limit, own_conversation
from chatapp.api.door import Call
from chatapp.api.paging import by_moment
from chatapp.api.shapes import AttemptShape, Page, RewindShape
from chatapp.api.wishes import GoingBack
from chatapp.live import turns
from chatapp.models import Condensation, Conversation, Rewind

router = Router(tags=["History"])


def _resting(call: Call, pk: uuid.UUID) -> Conversation:
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
    conversation = _resting(request, pk)
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
    rewind = get_object_or_404(Rewind, pk=rewind_pk, conversation=_resting(request, pk))
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
def undo_condensation(request: Call, pk: uuid.UUID, attempt_pk: uuid.UUID) -> Condensation:
    """Show the model again what a condensation hid; once more it changes nothing."""
    return _change(request, pk, attempt_pk, services.undo_condensation)


@router.post(
    "/conversations/{uuid:pk}/condensations/{uuid:attempt_pk}/redo",
    response=AttemptShape,
    summary="Redo a condensation",
)
def redo_condensation(request: Call, pk: uuid.UUID, attempt_pk: uuid.UUID) -> Condensation:
    """Hide again what a condensation hid until it was undone; once more it changes nothing."""
    return _change(request, pk, attempt_pk, services.redo_condensation)


def _change(
    call: Call, pk: uuid.UUID, attempt_pk: uuid.UUID, change: Callable[..., None]
) -> Condensation:
    attempt = get_object_or_404(_resting(call, pk).condensations, pk=attempt_pk)
    with services.saving():
        change(condensation=attempt)
    turns.announce_change(pk)
    attempt.refresh_from_db()
    return attempt
