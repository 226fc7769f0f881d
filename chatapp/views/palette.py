"""The palette: conversations, actions and pages, found by what is typed."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from chatapp.models import Conversation
from chatapp.views.common import Request, as_uuid, signed_in
from chatapp.views.settings import LABELS
from chatapp.views.sidebar import list_conversations, search_conversations

MOST = 8


class Choice(NamedTuple):
    """Something to choose: an address to go to, a button to press, or a dialog to open."""

    icon: str
    label: str
    address: str = ""
    presses: str = ""
    dialog: str = ""


@signed_in("GET")
def show_palette(request: Request) -> HttpResponse:
    """Return the palette for the page of a conversation or another one, or what was found."""
    text = request.GET.get("q", "").strip()
    pk = as_uuid(request.GET.get("current", ""))
    current = Conversation.objects.owned_by(request.user).present().filter(pk__in=[pk]).first()
    words = text.casefold().split()
    known = {
        _("This conversation"): conversation_choices(current) if current else (),
        _("Actions"): action_choices(),
        _("Pages"): page_choices(),
    }
    groups = {
        name: [one for one in choices if all(word in one.label.casefold() for word in words)]
        for name, choices in known.items()
    }
    found = search_conversations(request, text) if text else list_conversations(request)
    listed = list(chain.from_iterable(day.items for day in found["days"]))[:MOST]
    context = {"groups": groups, "listed": listed, "found": found.get("found", [])[:MOST]}
    template = "search/_choices.html" if "q" in request.GET else "search/_palette.html"
    return render(request, template, context | {"text": text, "current": pk})


def conversation_choices(conversation: Conversation) -> Iterator[Choice]:
    """Yield what can be done with the conversation that is shown."""
    key = [conversation.pk]
    yield Choice("search", _("Search in conversation"), presses=".find-opener")
    yield Choice("inspect", _("Inspector"), presses=".inspector-opener")
    yield Choice("fold", _("Condense context"), presses="#condense")
    yield Choice("pen", _("Rename"), dialog=reverse("rename", args=key))
    yield Choice("folder", _("Move to folder"), dialog=reverse("move", args=key))
    yield Choice("link", _("Share or export"), reverse("share", args=key))
    yield Choice("file", _("Files"), reverse("files", args=key))
    yield Choice("sliders", _("Conversation settings"), reverse("tool_policies", args=key))


def action_choices() -> Iterator[Choice]:
    """Yield what can be done on every page."""
    yield Choice("plus", _("New conversation"), reverse("conversations"))
    yield Choice("up", _("Import a conversation"), reverse("import"))
    yield Choice("theme", _("Switch theme"), presses="[data-theme-toggle]")
    yield Choice("menu", _("Show or hide the sidebar"), presses=".sidebar-open")
    yield Choice("keyboard", _("Keyboard shortcuts"), presses="[data-opens=shortcuts]")


def page_choices() -> Iterator[Choice]:
    """Yield the pages, and the sections of the settings."""
    yield Choice("chat", _("Conversations"), reverse("conversation_list"))
    yield Choice("fold", _("Condensations"), reverse("condensations"))
    yield Choice("model", _("Costs"), reverse("costs"))
    yield Choice("model", _("Profiles"), reverse("profiles"))
    yield Choice("tool", _("MCP servers"), reverse("mcp_servers"))
    yield Choice("sliders", _("Settings"), reverse("settings"))
    for name, label in LABELS.items():
        words = _("Settings: %s") % label
        yield Choice("sliders", words, reverse("settings_section", args=[name]))
