"""The list of conversations beside every page, page by page."""

import functools
import uuid
from typing import Any

from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from chatapp.conversations.folders import move_conversation, place_conversation, rename_folder
from chatapp.formats import number
from chatapp.models import Conversation, Folder
from chatapp.models.conversations import ConversationQuerySet
from chatapp.models.errors import IndexDamaged
from chatapp.models.pagination import behind, read_cursor, write_cursor
from chatapp.search.queries import LONGEST
from chatapp.transcript import search_hits
from chatapp.turns import actions
from chatapp.views.common import (
    Day,
    Request,
    done,
    group_by_day,
    name_day,
    own_conversation,
    read_number,
    signed_in,
    zone_of,
)

PAGE = 40
ARCHIVE = "archive"
# What is pinned is to be seen at a glance.
MOST_PINNED = 100


def list_conversations(
    request: Request, *, text: str = "", after: str = "", shelf: str = ""
) -> dict[str, Any]:
    """Return one page of conversations by day, and a cursor: those with ``text`` in their title.

    Without a text, those of a ``shelf``, which is a folder's number or ARCHIVE; or else those that
    are on none.
    """
    text = text.strip()[:LONGEST]
    found = Conversation.objects.owned_by(request.user).present().with_waiting()
    found = found.titled(text) if text else _on(found, shelf)
    name = functools.partial(name_day, now=timezone.now(), zone=zone_of(request))
    last = ""
    if place := read_cursor(after):
        found = found.filter(behind("updated_at", place))
        last = name(place[0])
    rows = list(found.defer("system_prompt")[: PAGE + 1])
    more = write_cursor(rows[PAGE - 1], rows[PAGE - 1].updated_at) if len(rows) > PAGE else ""
    days = group_by_day(rows[:PAGE], lambda row: name(row.updated_at), last=last)
    return {"days": days, "more": more, "text": text, "shelf": shelf}


def _on(found: ConversationQuerySet, shelf: str) -> ConversationQuerySet:
    if not shelf:
        return found.loose()
    if shelf == ARCHIVE:
        return found.archived()
    return found.filter(archived_at=None, folder=read_number(shelf) or 0)


def search_conversations(
    request: Request, text: str, *, current: Conversation | None = None
) -> dict[str, Any]:
    """Return the first page of conversations with ``text`` in their title, and who says it.

    Without a text, those that are pinned and the folders stand before the others, and the archive,
    if there is one, behind them.
    """
    listed = list_conversations(request, text=text)
    if not text.strip():
        return listed | _shelves(request) | {"open_folder": current and current.folder_id}
    try:
        found = search_hits.find_hits(request.user, text)
    except IndexDamaged as problem:
        return listed | {"problem": str(problem), "summary": str(problem)}
    return listed | {"found": found, "summary": _summary(listed, found)}


def _shelves(request: Request) -> dict[str, Any]:
    own = Conversation.objects.owned_by(request.user).present().with_waiting()
    pinned = list(own.pinned().order_by("pinned_at").defer("system_prompt")[:MOST_PINNED])
    present = Q(conversations__deleted_at=None, conversations__archived_at=None)
    return {
        "archive": Conversation.objects.owned_by(request.user).present().archived().exists(),
        "pinned": [Day(_("Pinned"), tuple(pinned), False)] if pinned else [],
        "folders": Folder.objects.owned_by(request.user).annotate(
            count=Count("conversations", present)
        ),
    }


def _summary(listed: dict[str, Any], found: list[search_hits.Found]) -> str:
    """Say how much was found."""
    titles = sum(len(day.items) for day in listed["days"])
    hits = sum(group.count for group in found)
    title_words = ngettext("%(count)s title", "%(count)s titles", titles)
    hit_words = ngettext("%(count)s message", "%(count)s messages", hits)
    return ", ".join(
        (
            title_words % {"count": count_words(titles, more=bool(listed["more"]))},
            hit_words % {"count": count_words(hits, more=hits == search_hits.BEST)},
        )
    )


def count_words(count: int, *, more: bool) -> str:
    """Return a count, with a plus where there are more."""
    return f"{number(count)}+" if more else number(count)


CHANGED = "list-changed"
MOVE = "move"


@require_http_methods(["GET", "POST"])
@signed_in
def shelve_conversation(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Show where a conversation is and can be put, or put it there."""
    conversation = own_conversation(request, pk)
    folders = Folder.objects.owned_by(request.user)
    if request.method == "GET":
        context = {"conversation": conversation, "folders": folders}
        return render(request, "conversations/_shelve.html", context)
    action = request.POST.get("action", "")
    if action == MOVE:
        chosen, named = request.POST.get("folder", ""), request.POST.get("named", "")
        folder = get_object_or_404(folders, pk=read_number(chosen)) if chosen else None
        move_conversation(conversation=conversation, folder=folder, named=named)
    else:
        place_conversation(conversation=conversation, action=action)
    return announce(request, reverse("chat", args=[pk]))


@require_http_methods(["GET", "POST"])
@signed_in
def change_folder(request: Request, pk: int) -> HttpResponse:
    """Show what can be done with a folder, or rename or remove it; its conversations stay."""
    folder = get_object_or_404(Folder.objects.owned_by(request.user), pk=pk)
    if request.method == "GET":
        return render(request, "conversations/_folder.html", {"folder": folder})
    if "remove" in request.POST:
        folder.delete()
    else:
        rename_folder(folder=folder, name=request.POST.get("name", ""))
    return announce(request, reverse("conversations"))


def announce(request: Request, to: str) -> HttpResponse:
    """Have all open pages of the user's show the list as it is now."""
    actions.announce_list(request.user.pk)
    return done(request, event=CHANGED, to=to)
