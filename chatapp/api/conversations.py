"""Conversations, their messages, and what the model sees of them."""

import uuid
from typing import Annotated, Any

from django.db.models import QuerySet
from django.forms import model_to_dict
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from ninja import PatchDict, Router
from pydantic import Field

import condense
from chatapp import services
from chatapp.api.door import Call, keepers, refuse
from chatapp.api.paging import LONGEST_PAGE, by_moment, by_number
from chatapp.api.shapes import ConversationShape, EffectiveShape, MessageShape, Page
from chatapp.api.streaming import stream_turn
from chatapp.api.wishes import ConversationChange, NewConversation, NewMessage
from chatapp.forms import BudgetForm
from chatapp.live import protocol, turns
from chatapp.models import Conversation, Profile, store

router = Router(tags=["Conversations"])

Limit = Annotated[int, Field(ge=1, le=LONGEST_PAGE)]


def present(call: Call) -> QuerySet[Conversation]:
    """Return the conversations of who asks, less what was deleted."""
    return Conversation.objects.owned_by(call.auth).present()


def own_conversation(call: Call, pk: uuid.UUID) -> Conversation:
    """Return a conversation of who asks; a deleted or foreign one is not found."""
    return get_object_or_404(present(call), pk=pk)


@router.get("/conversations", response=Page[ConversationShape], summary="List conversations")
def list_conversations(request: Call, after: str = "", limit: Limit = 40) -> dict[str, Any]:
    """List what is not deleted, the latest first."""
    return by_moment(present(request), "updated_at", after, limit)


@router.post("/conversations", response={201: ConversationShape}, summary="Begin a conversation")
def create_conversation(request: Call, new: NewConversation) -> Conversation:
    """Begin a conversation, which the default profile answers unless another one is named."""
    own = Profile.objects.filter(owner=request.auth)
    profile = None if new.profile is None else get_object_or_404(own, pk=new.profile)
    with services.saving():
        return services.start_conversation(owner=request.auth, profile=profile, title=new.title)


@router.get("/conversations/{uuid:pk}", response=ConversationShape, summary="Show a conversation")
def show_conversation(request: Call, pk: uuid.UUID) -> Conversation:
    """Show one conversation, without its messages."""
    return own_conversation(request, pk)


@router.patch(
    "/conversations/{uuid:pk}",
    response=ConversationShape,
    summary="Change a conversation",
    auth=keepers,
)
def change_conversation(
    request: Call, pk: uuid.UUID, change: PatchDict[ConversationChange]
) -> Conversation:
    """Change what is named of a conversation; a budget holds from its next call on."""
    conversation = own_conversation(request, pk)
    form = BudgetForm({**model_to_dict(conversation, BudgetForm.Meta.fields), **change})
    if not form.is_valid():
        raise refuse(form)
    with services.saving():
        services.decide(
            conversation=conversation,
            policies=conversation.tool_policies,
            system=conversation.system_prompt,
            budget=form.cleaned_data["budget"],
        )
    turns.announce_change(pk)
    conversation.refresh_from_db()
    return conversation


@router.get(
    "/conversations/{uuid:pk}/messages", response=Page[MessageShape], summary="List messages"
)
def list_messages(
    request: Call, pk: uuid.UUID, after: str = "", limit: Limit = 40
) -> dict[str, Any]:
    """List all that was ever said, as it was written, with what hides it from the model."""
    return by_number(own_conversation(request, pk).messages.all(), "seq", after, limit)


@router.get(
    "/conversations/{uuid:pk}/effective",
    response=EffectiveShape,
    summary="Show what the model sees",
)
def show_effective(request: Call, pk: uuid.UUID) -> dict[str, Any]:
    """Show the effective history: what the next request is made of, in reading order."""
    history = store.read_effective(own_conversation(request, pk).pk)
    seen = [
        {
            "seq": one.seq,
            "role": one.role,
            "content": condense.content_to_api(one.content),
            "tokens": one.tokens or 0,
        }
        for one in history
    ]
    return {"tokens": sum(one.tokens or 0 for one in history), "messages": seen}


@router.post(
    "/conversations/{uuid:pk}/messages",
    summary="Send a message",
    openapi_extra={"responses": {200: {"content": {"text/event-stream": {}}}}},
)
def send_message(request: Call, pk: uuid.UUID, new: NewMessage) -> StreamingHttpResponse:
    """Send a message, and stream the turn that answers it as server-sent events.

    The turn goes on when nobody listens. Sent again with the same nonce, a message starts nothing.
    """
    conversation = own_conversation(request, pk)
    command = protocol.SendMessage(
        new.text,
        new.nonce,
        literal=new.literal,
        attachments=tuple(new.attachments),
    )
    return stream_turn(conversation, command)
