"""History: rewinds, forks, condensations that are undone and redone, and model calls."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router
from pydantic import Field

from chatapp.condensing import ratings, undo
from chatapp.conversations import forks
from chatapp.conversations import rewind as rewind_
from chatapp.models import Condensation, Conversation, ModelCall, Rewind
from chatapp.models.database import reading_damaged_text
from chatapp.page.inspector.requests import read_body
from chatapp.records.maintenance import audit_check
from chatapp.turns import actions
from chatapp.web.api import schemas
from chatapp.web.api.auth import ApiRequest, Pk, own_conversation, resting_conversation
from chatapp.web.api.pagination import Part, by_moment, by_number

router, records, everywhere = (Router(tags=[one]) for one in ("History", "Record", "Record"))

Later = Annotated[int, Field(ge=0, le=schemas.LARGEST_NUMBER)]


@router.get("/rewinds", response=schemas.page(schemas.RewindShape))
def list_rewinds(request: ApiRequest, pk: Pk, part: Part) -> dict[str, Any]:
    """List the rewinds, the latest first: by going back, an edit, or another reply."""
    own = Rewind.objects.filter(conversation=own_conversation(request, pk))
    return by_moment(own.order_by("-created_at", "-pk"), "created_at", part)


@router.post("/rewinds", response={201: schemas.RewindShape}, summary="Go back")
def rewind_conversation(request: ApiRequest, pk: Pk, wanted: schemas.GoingBack) -> Rewind:
    """Go back to before a message; later ones are set aside, and nothing is deleted."""
    made = rewind_.rewind_conversation(
        conversation=resting_conversation(request, pk),
        first_hidden_seq=wanted.to_seq,
        key=wanted.key,
        files=wanted.files,
    )
    actions.announce_change(pk)
    return made


@router.post("/rewinds/{uuid:rewind_pk}/undo", response=schemas.RewindShape)
def undo_rewind(request: ApiRequest, pk: Pk, rewind_pk: uuid.UUID) -> Rewind:
    """Show again the messages that a rewind set aside; once more it changes nothing."""
    rewind = get_object_or_404(Rewind, pk=rewind_pk, conversation=resting_conversation(request, pk))
    rewind_.undo_rewind(rewind=rewind)
    actions.announce_change(pk)
    rewind.refresh_from_db()
    return rewind


@router.post("/condensations/{uuid:attempt_pk}/undo", response=schemas.AttemptShape)
def undo_condensation(
    request: ApiRequest, pk: Pk, attempt_pk: uuid.UUID, later: Later = 0
) -> Condensation:
    """Show the model again the messages that a condensation hid; once more it changes nothing.

    A condensation under ``later`` ones is undone together with them, if their number is given.
    """
    return _change(request, pk, attempt_pk, partial(undo.undo_condensation, later=later))


@router.get("/condensations/{uuid:attempt_pk}/undo", response=schemas.UndoShape)
def preview_undo(request: ApiRequest, pk: Pk, attempt_pk: uuid.UUID) -> undo.Undo:
    """Show the result of undoing this condensation and the later ones; nothing is changed."""
    attempt = get_object_or_404(resting_conversation(request, pk).condensations, pk=attempt_pk)
    return undo.preview_undo(condensation=attempt)


@router.post("/condensations/{uuid:attempt_pk}/redo", response=schemas.AttemptShape)
def redo_condensation(request: ApiRequest, pk: Pk, attempt_pk: uuid.UUID) -> Condensation:
    """Hide again the messages of an undone condensation, and of those undone with it."""
    return _change(request, pk, attempt_pk, undo.redo_condensation)


@router.post("/condensations/{uuid:attempt_pk}/rating", response=schemas.AttemptShape)
def rate_summary(
    request: ApiRequest, pk: Pk, attempt_pk: uuid.UUID, wanted: schemas.NewRating
) -> Condensation:
    """Rate a summary as good or bad, with a reason: later summaries follow it."""
    rated = partial(ratings.rate_summary, rating=wanted.rating, words=wanted.words)
    return _change(request, pk, attempt_pk, rated)


@router.post("/messages/{int:seq}/fork", response={201: schemas.ConversationShape})
def fork_conversation(request: ApiRequest, pk: Pk, seq: int) -> Conversation:
    """Fork the conversation after message ``seq``, or, for a summary, before its condensation."""
    return forks.fork_conversation(conversation=own_conversation(request, pk), seq=seq)


def _change(
    call: ApiRequest, pk: uuid.UUID, attempt_pk: uuid.UUID, change: Callable[..., None]
) -> Condensation:
    attempt = get_object_or_404(resting_conversation(call, pk).condensations, pk=attempt_pk)
    change(condensation=attempt)
    actions.announce_change(pk)
    attempt.refresh_from_db()
    return attempt


@everywhere.get("/condensations", response=schemas.page(schemas.AttemptShape))
def list_all_condensations(request: ApiRequest, part: Part) -> dict[str, Any]:
    """List every attempt in any conversation, the newest first."""
    mine = Condensation.objects.owned_by(request.auth).whole().brief().prefetch_related("tries")
    return by_moment(mine.newest_first(), "started_at", part)


@records.get("/condensations", response=schemas.page(schemas.AttemptShape))
def list_condensations(request: ApiRequest, pk: Pk, part: Part) -> dict[str, Any]:
    """List every attempt in a conversation, the newest first."""
    own = Condensation.objects.filter(conversation=own_conversation(request, pk)).whole().brief()
    return by_moment(own.prefetch_related("tries").newest_first(), "started_at", part)


@records.get("/condensations/{uuid:attempt_pk}", response=schemas.RecordShape)
def show_condensation(request: ApiRequest, pk: Pk, attempt_pk: uuid.UUID) -> Condensation:
    """Show the whole record of one attempt."""
    return get_object_or_404(own_conversation(request, pk).condensations, pk=attempt_pk)


@records.get("/audit", response=schemas.VerdictShape, summary="Check the record")
@reading_damaged_text()
def check_record(request: ApiRequest, pk: Pk) -> audit_check.ChainFindings:
    """Check a conversation's audit chain, and name in sentences each place that breaks it."""
    return audit_check.verify(own_conversation(request, pk))


@records.get("/calls", response=schemas.page(schemas.CallShape))
def list_calls(request: ApiRequest, pk: Pk, part: Part) -> dict[str, Any]:
    """List every request to a model in a conversation."""
    own = ModelCall.objects.filter(conversation=own_conversation(request, pk)).defer("draft")
    return by_number(own, "pk", part)


@records.get("/calls/{int:call_pk}", response=schemas.CallShape)
def show_call(request: ApiRequest, pk: Pk, call_pk: int) -> ModelCall:
    """Show one request to a model."""
    calls = ModelCall.objects.select_related("manifest")
    return get_object_or_404(calls, conversation=own_conversation(request, pk), pk=call_pk)


@records.get("/calls/{int:call_pk}/request", summary="Show what was sent")
def show_request(request: ApiRequest, pk: Pk, call_pk: int) -> HttpResponse:
    """Return the body of a call as it was sent, byte for byte, put together from the record."""
    body = read_body(show_call(request, pk, call_pk))
    if body is None:
        raise Http404
    return HttpResponse(body, content_type="application/json")
