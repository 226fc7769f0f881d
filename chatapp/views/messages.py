"""Messages: their texts, the end of a part to condense, and pins."""

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import render

import condense
from chatapp.context.condense_requests import find_ends
from chatapp.conversations import pins
from chatapp.models import Conversation, message_store
from chatapp.transcript import pinned, row_pages
from chatapp.views.common import Request, announce, in_conversation, refuse

# In one list; who wants more condenses all, or begins further down.
MOST_ENDS = 300


@in_conversation("GET")
def show_message_text(_request: Request, own: Conversation, seq: int) -> HttpResponse:
    """Return what a message says, for copying and editing."""
    return answer(row_pages.message_text(own, seq))


@in_conversation("GET")
def show_call_text(request: Request, own: Conversation, seq: int) -> HttpResponse:
    """Return all of a tool call's input or result."""
    call, part = request.GET.get("call", ""), request.GET.get("part", "")
    return answer(row_pages.call_text(own, seq, call, part))


@in_conversation("GET")
def show_queued_text(_request: Request, own: Conversation, nonce: uuid.UUID) -> HttpResponse:
    """Return what a message says that waits to be sent, for editing."""
    waiting = own.queued.waiting().filter(nonce=nonce)
    return answer(waiting.values_list("text", flat=True).first())


def answer(text: str | None) -> HttpResponse:
    """Return text that no browser takes for anything else."""
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@in_conversation("GET")
def show_range(request: Request, conversation: Conversation, seq: int) -> HttpResponse:
    """Ask up to which message to condense from this one on."""
    try:
        ends = find_ends(message_store.read_effective(conversation.pk), seq)[:MOST_ENDS]
    except condense.NothingToCondense as reason:
        return refuse(request, str(reason))
    # Most would end before the next message of the user.
    asked = (place for place, end in enumerate(ends) if end.by_user and place)
    usual = ends[next(asked, len(ends)) - 1].seq
    context = {"conversation": conversation, "first": seq, "ends": ends, "usual": usual}
    return render(request, "chat/_range_dialog.html", context)


@in_conversation("GET")
def show_pins(request: Request, conversation: Conversation) -> HttpResponse:
    """Show what is pinned, what it takes, and a form for a rule."""
    context = {
        "conversation": conversation,
        "pins": pinned.pin_lines(conversation),
        "longest": pins.LONGEST_RULE,
        "take": pins.what_pins_take(conversation),
        "claimed": pinned.claimed_rules(conversation),
    }
    return render(request, "chat/_pins.html", context)


@in_conversation("POST", resting=True)
def pin_rule(request: Request, conversation: Conversation) -> HttpResponse:
    """Have the model keep a rule of the user's own."""
    pins.pin_rule(conversation=conversation, text=request.POST.get("rule", ""))
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def adopt_rules(request: Request, conversation: Conversation) -> HttpResponse:
    """Have the model told the rules of an imported file as the user's own."""
    pins.adopt_rules(conversation=conversation)
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def pin_message(request: Request, conversation: Conversation, seq: int) -> HttpResponse:
    """Have the model keep a message word for word, or what was selected of its text."""
    if (selected := request.POST.get("selected")) is None:
        pins.pin_message(conversation=conversation, seq=seq)
    else:
        pins.pin_selection(conversation=conversation, seq=seq, selected=selected)
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def unpin_message(request: Request, conversation: Conversation, seq: int) -> HttpResponse:
    """Let a message be summarised like any other again."""
    pins.unpin_message(conversation=conversation, seq=seq)
    return announce(request, conversation)
