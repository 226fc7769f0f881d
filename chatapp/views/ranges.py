"""The dialog in which a person says up to where to condense."""

import uuid

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

import condense
from chatapp.context.scopes import End, find_ends
from chatapp.models import store
from chatapp.views.common import Request, own_conversation, refuse, signed_in

# In one list; who wants more condenses all, or begins further down.
MOST_ENDS = 300


@require_GET
@signed_in
def show_range(request: Request, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Ask up to which message to condense from this one on."""
    conversation = own_conversation(request, pk)
    try:
        ends = find_ends(store.read_effective(conversation.pk), seq)[:MOST_ENDS]
    except condense.NothingToCondense as reason:
        return refuse(request, str(reason))
    context = {"conversation": conversation, "first": seq, "ends": ends, "usual": _usual(ends)}
    return render(request, "chat/_range_dialog.html", context)


def _usual(ends: list[End]) -> int:
    """Return where most would end: before the next message of the user."""
    asked = (place for place, end in enumerate(ends) if end.by_user and place)
    return ends[next(asked, len(ends)) - 1].seq
