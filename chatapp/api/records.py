"""Condensations and model calls: what was done to the context, and what was sent."""

import uuid
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router

from chatapp import inspector
from chatapp.api.conversations import Limit, own_conversation
from chatapp.api.door import Call
from chatapp.api.paging import by_moment, by_number
from chatapp.api.record_shapes import AttemptShape, CallShape, RecordShape
from chatapp.api.shapes import Page
from chatapp.models import Condensation, ModelCall

router = Router(tags=["Record"])


@router.get("/condensations", response=Page[AttemptShape], summary="List all condensations")
def list_all_condensations(request: Call, after: str = "", limit: Limit = 40) -> dict[str, Any]:
    """List every attempt in any conversation, the newest first."""
    mine = Condensation.objects.owned_by(request.auth).brief()
    return by_moment(mine.newest_first(), "started_at", after, limit)


@router.get(
    "/conversations/{uuid:pk}/condensations",
    response=Page[AttemptShape],
    summary="List condensations",
)
def list_condensations(
    request: Call, pk: uuid.UUID, after: str = "", limit: Limit = 40
) -> dict[str, Any]:
    """List every attempt in a conversation, the newest first."""
    own = Condensation.objects.filter(conversation=own_conversation(request, pk)).brief()
    return by_moment(own.newest_first(), "started_at", after, limit)


@router.get(
    "/conversations/{uuid:pk}/condensations/{uuid:attempt_pk}",
    response=RecordShape,
    summary="Show a condensation",
)
def show_condensation(request: Call, pk: uuid.UUID, attempt_pk: uuid.UUID) -> Condensation:
    """Show all that is on record of one attempt."""
    return get_object_or_404(own_conversation(request, pk).condensations, pk=attempt_pk)


@router.get("/conversations/{uuid:pk}/calls", response=Page[CallShape], summary="List model calls")
def list_calls(request: Call, pk: uuid.UUID, after: str = "", limit: Limit = 40) -> dict[str, Any]:
    """List every request to a model in a conversation, as they were sent."""
    own = ModelCall.objects.filter(conversation=own_conversation(request, pk)).defer("draft")
    return by_number(own, "pk", after, limit)


@router.get(
    "/conversations/{uuid:pk}/calls/{int:call_pk}", response=CallShape, summary="Show a model call"
)
def show_call(request: Call, pk: uuid.UUID, call_pk: int) -> ModelCall:
    """Show one request to a model."""
    return _call(request, pk, call_pk)


@router.get("/conversations/{uuid:pk}/calls/{int:call_pk}/request", summary="Show what was sent")
def show_request(request: Call, pk: uuid.UUID, call_pk: int) -> HttpResponse:
    """Return the body of a call as it was sent, byte for byte, put together from the record."""
    body = inspector.read_body(_call(request, pk, call_pk))
    if body is None:
        raise Http404
    return HttpResponse(body, content_type="application/json")


def _call(request: Call, pk: uuid.UUID, call_pk: int) -> ModelCall:
    calls = ModelCall.objects.select_related("manifest")
    return get_object_or_404(calls, conversation=own_conversation(request, pk), pk=call_pk)
