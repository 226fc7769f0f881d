"""One conversation: its page, its transcript in parts, and its answering profile.

Also the texts of its messages.
"""

import uuid

from django.conf import settings
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render

from chatapp.accounts import new_profiles
from chatapp.conversations import conversations
from chatapp.conversations.context.turn_context import read_todo
from chatapp.models import Conversation, Profile, accounts, message_index
from chatapp.models.errors import IndexDamaged
from chatapp.models.pagination import read_number
from chatapp.page.live.status_panel import context_state
from chatapp.page.transcript import row_pages, rows
from chatapp.project.languages import in_words
from chatapp.project.search import Query
from chatapp.project.sentences import translate as _
from chatapp.turns import actions
from chatapp.web.views.common import UserRequest, announce, in_conversation, refuse
from chatapp.web.views.conversations import UNSENT_FIRST_MESSAGES

# Places in one conversation that can be stepped through.
PLACES = 1_000


@in_conversation("GET")
def show_chat(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the conversation from its newest page, or from the place ``at``."""
    preferences = accounts.preferences_of(request.user)
    waiting = {} if conversation.last_seq else request.session.get(UNSENT_FIRST_MESSAGES, {})
    context = {
        "conversation": conversation,
        "page": read_page(request, conversation),
        "context": context_state(conversation, preferences),
        "todo": read_todo(conversation),
        "shortcuts": preferences.shortcuts,
        "longest": settings.LONGEST_MESSAGE,
        "attachments": settings.ATTACHMENTS_PER_MESSAGE,
        "forks": conversation.forks.present(request.user),
        "first": waiting.get(str(conversation.pk)),
    }
    return render(request, "chat/page.html", context)


@in_conversation("GET")
def show_transcript(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Return the rows before or after a cut, or the transcript anew, whole or between two cuts."""
    cuts = request.GET.keys() & {"before", "after"}
    part = cuts.pop() if len(cuts) == 1 else ""
    template = "chat/_rows.html" if part else "chat/_transcript.html"
    page = read_page(request, conversation)
    return render(request, template, {"conversation": conversation, "page": page, "part": part})


def read_page(request: UserRequest, conversation: Conversation) -> rows.RowPage:
    """Return the rows that the address names, the newest ones if it names none."""
    match request.GET.dict():
        case {"after": after, "before": before}:
            return row_pages.page_between(conversation, after, before)
        case {"after": after}:
            return row_pages.page_after(conversation, after)
        case {"before": before}:
            return row_pages.page(conversation, before=before)
        case {"at": place}:
            return row_pages.page_around(conversation, place)
    return row_pages.page(conversation)


@in_conversation("GET")
def find(request: UserRequest, conversation: Conversation) -> JsonResponse:
    """Return the places of the words in the conversation, in reading order, and their pattern."""
    query = Query.read(request.GET.get("q", ""))
    problem = ""
    try:
        places = message_index.find_places(conversation, query, limit=PLACES + 1)
    except IndexDamaged as damage:
        places, problem = [], in_words(str(damage))
    return JsonResponse(
        {
            "problem": problem,
            "places": [f"{position}.{seq}" for position, seq in places[:PLACES]],
            "more": len(places) > PLACES,
            "pattern": query.script_pattern,
        }
    )


@in_conversation("GET")
def show_todo(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Return the to-do list that the agent keeps."""
    return render(request, "chat/_todo.html", {"todo": read_todo(conversation)})


@in_conversation("GET")
def show_counts(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the number of messages and condensations, and the last condensation."""
    said = conversation.messages.in_force().written().filter(holds_results=False).count()
    made = conversation.condensations.filter(status="succeeded", message__rewind_parent=None)
    context = {"said": said, "made": made.count(), "last": made.newest_first().first()}
    return render(request, "chat/_counts.html", context)


@in_conversation("GET")
def show_choice(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Return the profiles that can answer, the one used last first, and the chosen one."""
    profiles = Profile.objects.last_used_first(request.user)
    context = {"conversation": conversation, "profiles": profiles}
    return render(request, "chat/_profile_options.html", context)


@in_conversation("POST")
def choose_profile(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Let another of the user's profiles answer from now on."""
    chosen = read_number(request.POST.get("profile", ""))
    profile = get_object_or_404(request.user.profiles, pk=chosen)
    if profile != conversation.profile:
        conversations.choose_profile(conversation=conversation, profile=profile)
    return announce(request, conversation)


@in_conversation("POST")
def set_window(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Give the profile that answers the window that its provider named."""
    profile, window = conversation.profile, conversation.named_window
    if profile is None or profile.origin_id or window is None:
        return refuse(request, _("This has changed meanwhile. Reload the page."))
    new_profiles.set_window(profile, window)
    actions.announce_changes(request.user.pk)
    return announce(request, conversation)


@in_conversation("GET")
def show_message_text(_request: UserRequest, own: Conversation, seq: int) -> HttpResponse:
    """Return a message's text, for copying and editing."""
    return answer(row_pages.message_text(own, seq))


@in_conversation("GET")
def show_call_text(request: UserRequest, own: Conversation, seq: int) -> HttpResponse:
    """Return all of a tool call's input or result."""
    call, part = request.GET.get("call", ""), request.GET.get("part", "")
    return answer(row_pages.call_text(own, seq, call, part))


@in_conversation("GET")
def show_queued_text(_request: UserRequest, own: Conversation, nonce: uuid.UUID) -> HttpResponse:
    """Return the text of a queued message, for editing."""
    waiting = own.queued.waiting().filter(nonce=nonce)
    return answer(waiting.values_list("text", flat=True).first())


def answer(text: str | None) -> HttpResponse:
    """Return plain text that no browser takes for HTML."""
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")
