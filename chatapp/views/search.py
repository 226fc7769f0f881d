"""Searching: in all conversations, beside every page, and in one of them."""

import uuid

from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chatapp.models import Conversation, message_index
from chatapp.models.errors import IndexDamaged
from chatapp.search.queries import Query
from chatapp.views.common import Request, as_uuid, own_conversation, signed_in
from chatapp.views.sidebar import list_conversations, search_conversations

# Places in one conversation that can be stepped through.
PLACES = 1_000


@require_GET
@never_cache
@signed_in
def search(request: Request) -> HttpResponse:
    """Return what the sidebar shows for a search, or the next page of its conversations.

    Opened by itself, this leads to the page beside which the search is shown.
    """
    if not request.htmx:
        return redirect(reverse("conversations", query={"q": request.GET.get("q", "")}))
    text, after = request.GET.get("q", ""), request.GET.get("after", "")
    shelf = request.GET.get("shelf", "")
    current = {"current": as_uuid(request.GET.get("current", ""))}
    if after or shelf:
        listed = list_conversations(request, text=text, after=after, shelf=shelf)
        return render(request, "conversations/_list.html", listed | current)
    found = search_conversations(request, text, current=_open_one(request))
    return render(request, "search/_results.html", found | current | {"announced": True})


def _open_one(request: Request) -> Conversation | None:
    """Return the conversation that the page shows, None where it shows none."""
    pk = as_uuid(request.GET.get("current", ""))
    return Conversation.objects.owned_by(request.user).filter(pk=pk).first() if pk else None


@require_GET
@never_cache
@signed_in
def find(request: Request, pk: uuid.UUID) -> JsonResponse:
    """Return where in the conversation the words are, in reading order, and what matches them."""
    conversation = own_conversation(request, pk)
    query = Query.read(request.GET.get("q", ""))
    problem = ""
    try:
        places = message_index.find_places(conversation, query, limit=PLACES + 1)
    except IndexDamaged as damage:
        places, problem = [], str(damage)
    return JsonResponse(
        {
            "problem": problem,
            "places": [f"{position}.{seq}" for position, seq in places[:PLACES]],
            "more": len(places) > PLACES,
            "pattern": query.script_pattern,
        }
    )
