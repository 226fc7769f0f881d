"""What the model keeps word for word: messages, passages of them, and rules."""

import uuid
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _
from ninja import Router
from ninja.errors import HttpError

from chatapp import services, transcript
from chatapp.api.conversations import own_conversation
from chatapp.api.door import Call
from chatapp.api.history import resting_conversation
from chatapp.api.shapes import PinsShape
from chatapp.api.wishes import NewPin
from chatapp.live import turns
from chatapp.models import Conversation

router = Router(tags=["Pins"])


@router.get("/conversations/{uuid:pk}/pins", response=PinsShape, summary="List pins")
def list_pins(request: Call, pk: uuid.UUID) -> dict[str, Any]:
    """List what is pinned, the oldest first, and what it takes of the window."""
    return _pins(own_conversation(request, pk))


@router.post("/conversations/{uuid:pk}/pins", response=PinsShape, summary="Pin something")
def pin_something(request: Call, pk: uuid.UUID, new: NewPin) -> dict[str, Any]:
    """Have the model keep a rule, a message, or a passage of one; the same again does no harm."""
    conversation = resting_conversation(request, pk)
    with services.saving():
        match new:
            case NewPin(rule=str(rule), seq=None, selected=None):
                services.pin_rule(conversation=conversation, text=rule)
            case NewPin(rule=None, seq=int(seq), selected=None):
                services.pin_message(conversation=conversation, seq=seq)
            case NewPin(rule=None, seq=int(seq), selected=str(selected)):
                services.pin_selection(conversation=conversation, seq=seq, selected=selected)
            case _:
                raise HttpError(422, _("Send a rule, or a message with or without a selection."))
    turns.announce_change(pk)
    return _pins(conversation)


@router.delete(
    "/conversations/{uuid:pk}/pins/{int:seq}", response={204: None}, summary="Take a pin off"
)
def unpin_message(request: Call, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Let a message be summarised like any other again; once more it changes nothing."""
    conversation = resting_conversation(request, pk)
    with services.saving():
        services.unpin_message(conversation=conversation, seq=seq)
    turns.announce_change(pk)
    return HttpResponse(status=204)


def _pins(conversation: Conversation) -> dict[str, Any]:
    take = services.what_pins_take(conversation)
    return {"tokens": take.tokens, "most": take.most, "pins": transcript.pin_lines(conversation)}
