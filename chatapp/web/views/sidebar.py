"""The sidebar: the list of conversations by page, its folders, search in all, and the palette."""

import functools
from collections import Counter
from datetime import datetime, tzinfo
from itertools import chain, groupby
from typing import Any, NamedTuple

from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, Folder
from chatapp.models.errors import IndexDamaged
from chatapp.models.fields import contains
from chatapp.models.pagination import behind, read_cursor, read_number, write_cursor
from chatapp.page.transcript import search_hits
from chatapp.project.languages import in_words
from chatapp.project.search import LONGEST_QUERY
from chatapp.project.sentences import number
from chatapp.project.sentences import translate as _
from chatapp.turns import actions
from chatapp.web.views.common import UserRequest, as_uuid, done, in_conversation, signed_in, zone_of
from chatapp.web.views.settings import LABELS

CONVERSATIONS_PER_PAGE = 40
# A list that is fetched anew has as many as were shown, up to this.
MOST_SHOWN = 1_000
ARCHIVE = "archive"
# In the palette, matches in titles and in messages.
MOST_OFFERED = 8
_WEEK = 7  # days


class DayGroup(NamedTuple):
    """Conversations of one day or more; ``goes_on`` when a page before this one named it."""

    name: str
    items: list[Conversation]
    goes_on: bool = False


def list_conversations(
    request: UserRequest, *, text: str = "", after: str = "", folder: str = ""
) -> dict[str, Any]:
    """Return one page of conversations by day, and a cursor: those with ``text`` in their title.

    Without a text, those in a ``folder``, which is its number or ARCHIVE; or else those in none.
    The ``twins`` are titles that several of the page have.
    """
    text = text.strip()[:LONGEST_QUERY]
    found = Conversation.objects.owned_by(request.user).present().with_waiting()
    if text:
        found = found.filter(contains("title", condense.well_formed(text)))
    elif folder == ARCHIVE:
        found = found.archived()
    elif folder:
        found = found.filter(archived_at=None, folder=read_number(folder) or 0)
    else:
        found = found.loose()
    name = functools.partial(name_day, now=timezone.now(), zone=zone_of(request))
    last = ""
    if place := read_cursor(after):
        found = found.filter(behind("updated_at", place))
        last = name(place[0])
    shown = 0 if text or folder else read_number(request.GET.get("shown", "")) or 0
    most = min(max(CONVERSATIONS_PER_PAGE, shown), MOST_SHOWN)
    rows = list(found.defer("system_prompt")[: most + 1])
    twins = {name for name, count in Counter(map(str, rows)).items() if count > 1}
    more = write_cursor(rows[most - 1], rows[most - 1].updated_at) if len(rows) > most else ""
    by_day = groupby(rows[:most], key=lambda row: name(row.updated_at))
    days = [DayGroup(day, list(items), day == last) for day, items in by_day]
    listed = {"days": days, "more": more, "text": text, "chosen": folder, "twins": twins}
    return listed | {"narrowed": {"q": text, "folder": folder or None}}


def name_day(when: datetime, *, now: datetime, zone: tzinfo) -> str:
    """Return "Today", "Yesterday", "Previous 7 days" or "Earlier"."""
    days = (now.astimezone(zone).date() - when.astimezone(zone).date()).days
    if days <= 0:
        return _("Today")
    if days == 1:
        return _("Yesterday")
    return _("Previous 7 days") if days <= _WEEK else _("Earlier")


def search_conversations(
    request: UserRequest, text: str, *, current: Conversation | None = None
) -> dict[str, Any]:
    """Return the first page of conversations by title, and the hits in messages.

    Without a text, those that are pinned and the folders stand before the others, and the archive,
    if there is one, behind them.
    """
    listed = list_conversations(request, text=text)
    if not text.strip():
        own = Conversation.objects.owned_by(request.user).present()
        # All of them: they are in no other list.
        shown = [*own.with_waiting().pinned().order_by("pinned_at").defer("system_prompt")]
        loose = Q(conversations__deleted_at=None, conversations__archived_at=None)
        folders = Folder.objects.owned_by(request.user)
        return listed | {
            "archive": own.archived().exists(),
            "pinned": [DayGroup(_("Pinned"), shown)] if shown else [],
            "folders": folders.annotate(count=Count("conversations", loose)),
            "open_folder": current and current.folder_id,
        }
    try:
        found = search_hits.find_hits(request.user, text)
    except IndexDamaged as damage:
        problem = in_words(str(damage))
        return listed | {"problem": problem, "summary": problem}
    titles = sum(len(day.items) for day in listed["days"])
    hits = sum(group.count for group in found)
    told = count_words(titles, more=bool(listed["more"]))
    in_titles = _("{shown} title", "{shown} titles", count=titles, shown=told)
    told = count_words(hits, more=any(group.cut for group in found))
    in_messages = _("{shown} message", "{shown} messages", count=hits, shown=told)
    return listed | {"found": found, "summary": f"{in_titles}, {in_messages}"}


def count_words(count: int, *, more: bool) -> str:
    """Return a count, with a plus if there are more."""
    return f"{number(count)}+" if more else number(count)


@signed_in("GET")
def search(request: UserRequest) -> HttpResponse:
    """Return the sidebar's results for a search, or the next page of its conversations."""
    # Opened by itself, this leads to the page of all conversations.
    asked = request.GET
    text, after, folder = (asked.get(name, "") for name in ("q", "after", "folder"))
    if not request.htmx:
        return redirect(reverse("conversation_list", query={"q": text}))
    pk = as_uuid(asked.get("current", ""))
    if after or folder:
        listed = list_conversations(request, text=text, after=after, folder=folder)
        return render(request, "conversations/_list.html", listed | {"current": pk})
    current = Conversation.objects.owned_by(request.user).filter(pk__in=[pk]).first()
    found = search_conversations(request, text, current=current)
    return render(request, "search/_results.html", found | {"current": pk, "announced": True})


@signed_in("GET")
def show_palette(request: UserRequest) -> HttpResponse:
    """Return the palette's choices; the page drops those that do not match the typed text."""
    text = request.GET.get("q", "").strip()
    found = search_conversations(request, text) if text else list_conversations(request)
    context = {
        "text": text,
        "listed": list(chain.from_iterable(day.items for day in found["days"]))[:MOST_OFFERED],
        "found": found.get("found", [])[:MOST_OFFERED],
        "current": as_uuid(request.GET.get("current", "")),
        "sections": LABELS,
    }
    return render(request, "search/_choices.html", context)


@signed_in("GET")
def show_conversations(request: UserRequest) -> HttpResponse:
    """Show all conversations, or those in which something is found."""
    found = search_conversations(request, request.GET.get("q", ""))
    return render(request, "conversations/page.html", found)


@in_conversation("GET")
def show_menu(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Return a conversation's menu, the same in every list."""
    return render(request, "conversations/_menu.html", {"conversation": conversation})


@in_conversation("GET", "POST")
def move_conversation(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show a conversation's folder and the other folders, or move it."""
    folders = Folder.objects.owned_by(request.user)
    if request.method == "GET":
        context = {"conversation": conversation, "folders": folders}
        return render(request, "conversations/_move.html", context)
    action = request.POST.get("action", "")
    if action == "move":
        chosen, named = request.POST.get("folder", ""), request.POST.get("named", "")
        folder = get_object_or_404(folders, pk=read_number(chosen)) if chosen else None
        conversations.move_conversation(conversation=conversation, folder=folder, named=named)
    else:
        conversations.place_conversation(conversation=conversation, action=action)
    return announce(request, reverse("chat", args=[conversation.pk]))


@signed_in("GET", "POST")
def change_folder(request: UserRequest, pk: int) -> HttpResponse:
    """Show a folder's menu, or rename or remove it; its conversations stay."""
    folder = get_object_or_404(Folder.objects.owned_by(request.user), pk=pk)
    if request.method == "GET":
        return render(request, "conversations/_folder.html", {"folder": folder})
    if "remove" in request.POST:
        folder.delete()
    else:
        conversations.rename_folder(folder=folder, name=request.POST.get("name", ""))
    return announce(request, reverse("conversations"))


def announce(request: UserRequest, to: str) -> HttpResponse:
    """Have all open pages of the user show the present list."""
    actions.announce_list(request.user.pk)
    return done(request, event="list-changed", to=to)
