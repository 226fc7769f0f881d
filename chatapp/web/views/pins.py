"""The texts that the model keeps word for word, and those it forgets, in one conversation."""

from django.http import HttpResponse
from django.shortcuts import render

from chatapp.conversations import forgotten_passages, pins
from chatapp.models import Conversation
from chatapp.models.pagination import read_number
from chatapp.page.transcript import pinned
from chatapp.turns import actions
from chatapp.web.views.common import UserRequest, announce, in_conversation


@in_conversation("GET")
def show_pins(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the pins, their size, and a form for a rule."""
    context = {
        "conversation": conversation,
        "pins": pinned.pin_lines(conversation),
        "longest": pins.LONGEST_RULE,
        "take": pins.what_pins_take(conversation),
        "claimed": pins.claimed_rules(conversation),
    }
    return render(request, "chat/_pins.html", context)


@in_conversation("POST", resting=True)
def pin_rule(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Have the model keep a rule of the user's own."""
    pins.pin_rule(conversation=conversation, text=request.POST.get("rule", ""))
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def adopt_rules(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Give the model the rules of an imported file as the user's own."""
    pins.adopt_rules(conversation=conversation)
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def pin_message(request: UserRequest, conversation: Conversation, seq: int) -> HttpResponse:
    """Have the model keep a message word for word, or a selected part of its text."""
    if (selected := request.POST.get("selected")) is None:
        pins.pin_message(conversation=conversation, seq=seq)
    else:
        pins.pin_selection(conversation=conversation, seq=seq, selected=selected)
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def unpin_message(request: UserRequest, conversation: Conversation, seq: int) -> HttpResponse:
    """Let a message be summarised like any other again."""
    pins.unpin_message(conversation=conversation, seq=seq)
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def forget(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Forget a passage in all messages, or all of one message."""
    text, seq = request.POST.get("text", ""), read_number(request.POST.get("seq", ""))
    forgotten_passages.forget_passage(conversation=conversation, text=text, seq=seq)
    actions.announce_list(conversation.owner_id)
    return announce(request, conversation)
