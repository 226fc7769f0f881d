"""Conversations: the first page; beginning, renaming, deleting, forking and rewinding one."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django_htmx.http import trigger_client_event

from chatapp.conversations import conversations, forks
from chatapp.conversations import rewind as rewind_
from chatapp.conversations.composer import slash_commands
from chatapp.conversations.composer.attachments import find_attachments
from chatapp.conversations.toolbox.toolbox import SAMPLES
from chatapp.models import Conversation, accounts, errors
from chatapp.models.pagination import read_number
from chatapp.page.transcript import labels
from chatapp.project.languages import in_words
from chatapp.project.sentences import translate as _
from chatapp.providers.offline.answer import EXAMPLES
from chatapp.turns import actions
from chatapp.web.forms.conversations import RewindForm
from chatapp.web.forms.profiles import connectable, remote_servers
from chatapp.web.views.common import (
    REFUSED_STATUS,
    UserRequest,
    announce,
    as_uuid,
    done,
    in_conversation,
    lead,
    refuse,
    signed_in,
)

# The first messages that pages of empty conversations have yet to send, in the session.
UNSENT_FIRST_MESSAGES = "first"


@signed_in("GET")
def show_home(request: UserRequest) -> HttpResponse:
    """Show the introduction and three examples."""
    return _home(request)


def _home(
    request: UserRequest, prompt: str = "", attached: Sequence[str] = (), status: int = 200
) -> HttpResponse:
    """Return the first page, with the text and attachments of a refused form."""
    own = Conversation.objects.owned_by(request.user)
    deleted_pk = as_uuid(request.GET.get("deleted", ""))
    default = accounts.preferences_of(request.user).default_profile_id
    profiles = [*request.user.profiles.all()]
    samples = [one for one in profiles if not one.spec.needs_key]
    is_new = len(samples) == len(profiles)
    context = {
        "deleted": own.filter(pk__in=[deleted_pk]).exclude(deleted_at=None).first(),
        "profiles": profiles,
        "chosen": read_number(request.POST.get("profile", "")) or default,
        "sample": samples[0] if samples else None,
        "examples": EXAMPLES,
        "connectable": connectable() if is_new else (),
        "servers": remote_servers(),
        "looks_around": is_new and accounts.is_alone(request.user),
        "longest": settings.LONGEST_MESSAGE,
        "attachments": settings.ATTACHMENTS_PER_MESSAGE,
        "prompt": prompt,
        "attached": attached,
        "in_conversations": [one.name for one in slash_commands.BUILT_IN if not one.anywhere],
    }
    return render(request, "conversations/home.html", context, status=status)


@signed_in("POST")
def create_conversation(request: UserRequest) -> HttpResponse:
    """Start a conversation; a prompt given is sent by its page as soon as it is open."""
    # Without the field it starts empty; an empty one is refused. A refused form stays on the page.
    prompt, attached = request.POST.get("prompt", "").strip(), request.POST.getlist("attachments")
    try:
        return _begin(request, prompt, attached)
    except errors.Refused as refusal:
        messages.error(request, in_words(str(refusal)))
        return _home(request, prompt, attached, status=REFUSED_STATUS)


def _begin(request: UserRequest, prompt: str, attached: Sequence[str]) -> HttpResponse:
    attachments = [one for text in attached if (one := as_uuid(text))]
    profile = accounts.preferences_of(request.user).default_profile
    chosen = read_number(request.POST.get("profile", ""))
    if chosen and (profile is None or profile.pk != chosen):
        profile = request.user.profiles.filter(pk=chosen).first() or profile
    find_attachments(request.user, attachments, profile)
    if "prompt" in request.POST:
        conversations.check_message(prompt, alone=not attachments)
    if any(slash_commands.built_in(prompt)):
        raise errors.Refused(_("This command is for a conversation. Start one first."))
    workspace = SAMPLES if request.POST.get("samples") else ""
    conversation = conversations.start_conversation(
        owner=request.user, profile=profile, workspace=workspace
    )
    if prompt or attachments:
        # Its page sends it, under one nonce; messages that were stored since are forgotten.
        waiting: dict[str, Any] = request.session.get(UNSENT_FIRST_MESSAGES, {})
        empty = Conversation.objects.owned_by(request.user).filter(pk__in=waiting, last_seq=0)
        kept = {str(pk): waiting[str(pk)] for pk in empty.values_list("pk", flat=True)}
        first = {
            "prompt": prompt,
            "nonce": str(uuid.uuid4()),
            "attachments": [*map(str, attachments)],
        }
        request.session[UNSENT_FIRST_MESSAGES] = {**kept, str(conversation.pk): first}
    return redirect("chat", conversation.pk)


@in_conversation("POST")
def continue_here(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Go on here with a conversation that another program began."""
    conversations.continue_here(conversation=conversation)
    return redirect("chat", conversation.pk)


@in_conversation("GET", "POST")
def rename_conversation(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Give the conversation another title, ask for one, or show the one it has in its header."""
    if request.method == "GET":
        of_header = request.htmx.target == "title"
        template = "chat/_title.html" if of_header else "conversations/_rename.html"
        return render(request, template, {"conversation": conversation})
    title = request.POST.get("title", "")
    conversations.rename_conversation(conversation=conversation, title=title)
    actions.announce_title(conversation)
    return done(request, event="list-changed", to=reverse("chat", args=[conversation.pk]))


@signed_in("POST")
def delete_conversation(request: UserRequest, pk: uuid.UUID) -> HttpResponse:
    """Hide a deleted conversation, and offer to restore it."""
    conversation = present_or_deleted(request, pk)
    conversations.delete_conversation(conversation=conversation)
    actions.close_deleted(pk)
    actions.announce_list(conversation.owner_id)
    home = reverse("conversations", query={"deleted": str(pk)})
    if not request.htmx or reverse("chat", args=[pk]) in (request.htmx.current_url or ""):
        return lead(request, home)
    answer = render(request, "conversations/_deleted.html", {"deleted": conversation})
    return trigger_client_event(answer, "list-changed")


@signed_in("POST")
def restore_conversation(request: UserRequest, pk: uuid.UUID) -> HttpResponse:
    """Restore a deleted conversation and show it."""
    conversations.restore_conversation(conversation=present_or_deleted(request, pk))
    actions.announce_list(request.user.pk)
    return redirect("chat", pk)


@in_conversation("POST")
def fork_conversation(request: UserRequest, conversation: Conversation, seq: int) -> HttpResponse:
    """Go on from a message, or from before a condensation, in a new conversation."""
    made = forks.fork_conversation(conversation=conversation, seq=seq)
    actions.announce_list(request.user.pk)
    return lead(request, "chat", made.pk)


@in_conversation("GET")
def preview_rewind(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Show the messages and files that a rewind would change."""
    form = RewindForm(request.GET)
    if not form.is_valid():
        return refuse(request, _("There is no such place in this conversation."))
    to_seq = form.cleaned_data["to_seq"]
    attempt = form.cleaned_data["condensation"]
    preview = rewind_.preview_rewind(conversation=conversation, first_hidden_seq=to_seq)
    changes, shown = rewind_.files_to_bring_back(conversation=conversation, first_hidden_seq=to_seq)
    context = {
        "conversation": conversation,
        "to_seq": to_seq,
        "key": uuid.uuid4(),
        "hides": labels.seen_words(preview),
        "remembers": rewind_.remembers(conversation=conversation, first_hidden_seq=to_seq),
        "changes": changes,
        "difference": shown,
        "attempt": attempt and get_object_or_404(conversation.condensations, pk=attempt),
    }
    return render(request, "chat/_rewind_dialog.html", context)


@in_conversation("POST", resting=True)
def rewind_conversation(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Go back to before a message."""
    form = RewindForm(request.POST)
    if not form.is_valid():
        return refuse(request, _("There is no such place in this conversation."))
    rewind_.rewind_conversation(
        conversation=conversation,
        first_hidden_seq=form.cleaned_data["to_seq"],
        key=form.cleaned_data["key"],
        files=form.cleaned_data["with_files"],
    )
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def undo_rewind(
    request: UserRequest, conversation: Conversation, rewind_pk: uuid.UUID
) -> HttpResponse:
    """Show the model again the messages that a rewind hid."""
    rewind_.undo_rewind(rewind=get_object_or_404(conversation.rewinds, pk=rewind_pk))
    return announce(request, conversation)


@in_conversation("POST", resting=True)
def switch_version(request: UserRequest, own: Conversation, rewind_pk: uuid.UUID) -> HttpResponse:
    """Go to another version of a message or a reply."""
    rewind_.switch_version(rewind=get_object_or_404(own.rewinds, pk=rewind_pk))
    return announce(request, own)


def present_or_deleted(request: UserRequest, pk: uuid.UUID) -> Conversation:
    """Return the user's conversation, deleted or not: a repeated request finds it too."""
    return get_object_or_404(Conversation.objects.owned_by(request.user), pk=pk)
