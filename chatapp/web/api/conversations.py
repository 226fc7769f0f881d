"""Conversations: their messages, attachments and pins, and their effective history."""

import uuid
from typing import Any

from django.forms import model_to_dict
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import File, Form, Router
from ninja.errors import HttpError
from ninja.files import UploadedFile

from chatapp.conversations import conversations
from chatapp.conversations import pins as pins_
from chatapp.conversations.composer import attachments as attachments_
from chatapp.models import Attachment, Conversation, Profile, accounts, message_store
from chatapp.page.transcript import pinned
from chatapp.project.sentences import translate as _
from chatapp.turns import actions
from chatapp.web.api import schemas
from chatapp.web.api.auth import (
    ApiRequest,
    Pk,
    keepers,
    own_conversation,
    present,
    refuse,
    resting_conversation,
)
from chatapp.web.api.pagination import Part, by_moment, by_number
from chatapp.web.forms.conversations import ConversationForm

router, conversation, pins = (
    Router(tags=[tag]) for tag in ("Conversations", "Conversations", "Pins")
)
attachments = Router(tags=["Attachments"])


@router.get("/conversations", response=schemas.page(schemas.ConversationShape))
def list_conversations(request: ApiRequest, part: Part) -> dict[str, Any]:
    """List the conversations that are not deleted, the latest first."""
    return by_moment(present(request), "updated_at", part)


@router.post("/conversations", response={201: schemas.ConversationShape})
def create_conversation(request: ApiRequest, new: schemas.AnyNewConversation) -> Conversation:
    """Begin a conversation, which the default profile answers unless another one is named."""
    own = Profile.objects.filter(owner=request.auth)
    profile = None if new.profile is None else get_object_or_404(own, pk=new.profile)
    return conversations.start_conversation(owner=request.auth, profile=profile, title=new.title)


@conversation.get("", response=schemas.ConversationShape)
def show_conversation(request: ApiRequest, pk: Pk) -> Conversation:
    """Show one conversation, without its messages."""
    return own_conversation(request, pk)


@conversation.patch("", response=schemas.ConversationShape, auth=keepers)
def change_conversation(
    request: ApiRequest, pk: Pk, change: schemas.ConversationChange
) -> Conversation:
    """Change the named settings of a conversation, from its next message or call on."""
    conversation = own_conversation(request, pk)
    form = ConversationForm(
        {**model_to_dict(conversation, fields=ConversationForm.Meta.fields), **change}
    )
    if not form.is_valid():
        raise refuse(form)
    conversations.change_settings(
        conversation=conversation,
        **{name: form.cleaned_data[name] for name in change},
    )
    actions.announce_change(pk)
    conversation.refresh_from_db()
    return conversation


@conversation.get("/messages", response=schemas.page(schemas.MessageShape))
def list_messages(request: ApiRequest, pk: Pk, part: Part) -> dict[str, Any]:
    """List all messages as they were written, with the tags that hide them from the model."""
    return by_number(own_conversation(request, pk).messages.all(), "seq", part)


@conversation.get("/effective", response=schemas.EffectiveShape, summary="Show what the model sees")
def show_effective(request: ApiRequest, pk: Pk) -> dict[str, Any]:
    """Show the effective history in reading order; of a long one the newest messages."""
    history, beyond = message_store.read_outline(own_conversation(request, pk).pk)
    shown = [one for one in history if one.id != message_store.STAND_IN]
    tokens, earlier = sum(one.tokens or 0 for one in history), beyond.get("count", 0)
    return {"tokens": tokens, "messages": shown, "earlier": earlier}


@attachments.post("/attachments", response={201: schemas.AttachmentShape})
def attach_file(
    request: ApiRequest, file: File[UploadedFile], conversation: Form[uuid.UUID | None] = None
) -> Attachment:
    """Keep a file for a message, which names it by its id when it is sent.

    It is refused if the model of that conversation, or of the default profile, can't read it.
    """
    if conversation:
        profile = own_conversation(request, conversation).profile
    else:
        profile = accounts.preferences_of(request.auth).default_profile
    return attachments_.attach_file(
        owner=request.auth, name=file.name or "", data=file.read(), profile=profile
    )


@attachments.get("/attachments/{uuid:attachment_pk}", response=schemas.AttachmentShape)
def show_attachment(request: ApiRequest, attachment_pk: uuid.UUID) -> Attachment:
    """Show an attachment that waits to be sent; once it is, it is part of its message."""
    return get_object_or_404(Attachment, owner=request.auth, pk=attachment_pk)


@attachments.delete("/attachments/{uuid:attachment_pk}", response={204: None})
def remove_attachment(request: ApiRequest, attachment_pk: uuid.UUID) -> HttpResponse:
    """Remove an attachment that waits to be sent."""
    show_attachment(request, attachment_pk).delete()
    return HttpResponse(status=204)


@pins.get("/pins", response=schemas.PinsShape)
def list_pins(request: ApiRequest, pk: Pk) -> dict[str, Any]:
    """List the pins, the oldest first, and the tokens they take of the window."""
    conversation = own_conversation(request, pk)
    take = pins_.what_pins_take(conversation)
    return {"tokens": take.tokens, "most": take.most, "pins": pinned.pin_lines(conversation)}


@pins.post("/pins", response=schemas.PinsShape)
def pin_something(request: ApiRequest, pk: Pk, new: schemas.NewPin) -> dict[str, Any]:
    """Have the model keep a rule, a message, or a passage of one; the same again does no harm."""
    conversation = resting_conversation(request, pk)
    match new:
        case schemas.NewPin(rule=str(rule), seq=None, selected=None):
            pins_.pin_rule(conversation=conversation, text=rule)
        case schemas.NewPin(rule=None, seq=int(seq), selected=None):
            pins_.pin_message(conversation=conversation, seq=seq)
        case schemas.NewPin(rule=None, seq=int(seq), selected=str(selected)):
            pins_.pin_selection(conversation=conversation, seq=seq, selected=selected)
        case _:
            raise HttpError(422, _("Send a rule, or a message with or without a selection."))
    actions.announce_change(pk)
    return list_pins(request, pk)


@pins.delete("/pins/{int:seq}", response={204: None})
def unpin_message(request: ApiRequest, pk: Pk, seq: int) -> HttpResponse:
    """Let a message be summarised like any other again; once more it changes nothing."""
    pins_.unpin_message(conversation=resting_conversation(request, pk), seq=seq)
    actions.announce_change(pk)
    return HttpResponse(status=204)
