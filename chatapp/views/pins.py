"""What the model keeps word for word: messages, passages of them, and rules."""

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from chatapp.conversations import pins
from chatapp.transcript import pinned
from chatapp.views.chat import announce
from chatapp.views.common import Request, own_conversation, resting_conversation, signed_in


@require_GET
@signed_in
def show_pins(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Show in a dialog what is pinned, what it takes, and a form for a rule."""
    conversation = own_conversation(request, pk)
    context = {
        "conversation": conversation,
        "pins": pinned.pin_lines(conversation),
        "longest": pins.LONGEST_RULE,
        "take": pins.what_pins_take(conversation),
        "claimed": pinned.claimed_rules(conversation),
    }
    return render(request, "chat/_pins_dialog.html", context)


@require_POST
@signed_in
def pin_rule(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Have the model keep a rule of the user's own."""
    conversation = resting_conversation(request, pk)
    pins.pin_rule(conversation=conversation, text=request.POST.get("rule", ""))
    return announce(request, conversation)


@require_POST
@signed_in
def adopt_rules(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Have the model told the rules of an imported file as the user's own."""
    conversation = resting_conversation(request, pk)
    pins.adopt_rules(conversation=conversation)
    return announce(request, conversation)


@require_POST
@signed_in
def pin_message(request: Request, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Have the model keep a message word for word, or what was selected of its text."""
    conversation = resting_conversation(request, pk)
    if "selected" in request.POST:
        selected = request.POST["selected"]
        pins.pin_selection(conversation=conversation, seq=seq, selected=selected)
    else:
        pins.pin_message(conversation=conversation, seq=seq)
    return announce(request, conversation)


@require_POST
@signed_in
def unpin_message(request: Request, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Let a message be summarised like any other again."""
    conversation = resting_conversation(request, pk)
    pins.unpin_message(conversation=conversation, seq=seq)
    return announce(request, conversation)
