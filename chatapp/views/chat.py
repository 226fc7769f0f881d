"""One conversation: the page, its transcript in parts, and going back in it."""

import uuid

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

import condense
from chatapp.accounts import accounts
from chatapp.context import todo_list
from chatapp.context.condense_requests import End, find_ends
from chatapp.conversations import rewind as rewind_
from chatapp.conversations.rewind import files_to_bring_back
from chatapp.files import workspaces
from chatapp.forms.conversations import RewindForm
from chatapp.live.context_bar import context_state
from chatapp.models import Conversation, Rewind, message_store
from chatapp.transcript import labels, message_parts, row_pages, rows
from chatapp.turns import actions
from chatapp.views.common import (
    Request,
    done,
    own_conversation,
    read_number,
    refuse,
    resting_conversation,
    signed_in,
)
from chatapp.views.conversations import read_first

CHANGED = "transcript-changed"


@require_GET
@signed_in
def show_chat(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Show the conversation from its newest page, or from the place ``at``."""
    conversation = own_conversation(request, pk)
    preferences = accounts.preferences_of(request.user)
    context = {
        "conversation": conversation,
        "page": read_page(request, conversation),
        "context": context_state(conversation, preferences),
        "todo": todo_list.read_todo(conversation),
        "profiles": request.user.profiles.all(),
        "shortcuts": preferences.shortcuts,
        "longest": settings.LONGEST_MESSAGE,
        "attachments": settings.ATTACHMENTS_PER_MESSAGE,
        "forks": conversation.forks.present(request.user),
        "first": None if conversation.last_seq else read_first(request, pk),
    }
    return render(request, "chat/page.html", context)


@require_GET
@signed_in
def show_transcript(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return the rows before or after a cut, or the transcript anew, whole or between two cuts."""
    conversation = own_conversation(request, pk)
    cuts = request.GET.keys() & {"before", "after"}
    part = cuts.pop() if len(cuts) == 1 else ""
    template = "chat/_rows.html" if part else "chat/_transcript.html"
    page = read_page(request, conversation)
    return render(request, template, {"conversation": conversation, "page": page, "part": part})


@require_GET
@signed_in
def show_todo(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return the to-do list that the agent keeps."""
    todo = todo_list.read_todo(own_conversation(request, pk))
    return render(request, "chat/_todo.html", {"todo": todo})


@require_GET
@signed_in
def preview_rewind(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Say in advance what going back would hide."""
    conversation = own_conversation(request, pk)
    form = RewindForm(request.GET)
    if not form.is_valid():
        return refuse(request, _("There is no such place in this conversation."))
    to_seq = form.cleaned_data["to_seq"]
    attempt = form.cleaned_data["condensation"]
    preview = rewind_.preview_rewind(conversation=conversation, to_seq=to_seq)
    changes, shown = files_to_bring_back(conversation=conversation, to_seq=to_seq)
    context = {
        "conversation": conversation,
        "to_seq": to_seq,
        "key": uuid.uuid4(),
        "hides": labels.seen_words(preview),
        "changes": changes,
        "difference": [(message_parts.kind_of_line(line), line) for line in shown.splitlines()],
        "attempt": attempt and get_object_or_404(conversation.condensations, pk=attempt),
    }
    return render(request, "chat/_rewind_dialog.html", context)


@require_POST
@signed_in
def rewind_conversation(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Go back to before a message."""
    conversation = resting_conversation(request, pk)
    form = RewindForm(request.POST)
    if not form.is_valid():
        return refuse(request, _("There is no such place in this conversation."))
    rewind_.rewind_conversation(
        conversation=conversation,
        to_seq=form.cleaned_data["to_seq"],
        key=form.cleaned_data["key"],
        files=form.cleaned_data["with_files"],
    )
    return announce(request, conversation)


@require_POST
@signed_in
def undo_rewind(request: Request, pk: uuid.UUID, rewind_pk: uuid.UUID) -> HttpResponse:
    """Show the model again what a rewind hid."""
    conversation = resting_conversation(request, pk)
    rewind_.undo_rewind(rewind=get_object_or_404(Rewind, pk=rewind_pk, conversation=conversation))
    return announce(request, conversation)


@require_POST
@signed_in
def switch_version(request: Request, pk: uuid.UUID, rewind_pk: uuid.UUID) -> HttpResponse:
    """Go to another version of a message or an answer."""
    conversation = resting_conversation(request, pk)
    rewind = get_object_or_404(Rewind, pk=rewind_pk, conversation=conversation)
    rewind_.switch_version(rewind=rewind)
    return announce(request, conversation)


@require_GET
@signed_in
def show_choice(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Return the profiles that can answer, and which one does."""
    conversation = own_conversation(request, pk)
    context = {"conversation": conversation, "profiles": request.user.profiles.all()}
    return render(request, "chat/_profile_options.html", context)


@require_POST
@signed_in
def choose_profile(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Let another of the user's profiles answer from now on."""
    conversation = own_conversation(request, pk)
    chosen = read_number(request.POST.get("profile", ""))
    profile = get_object_or_404(request.user.profiles, pk=chosen)
    if profile != conversation.profile:
        # What one tokenizer measured says little about another's.
        Conversation.objects.filter(pk=pk).update(
            profile=profile, measured_tokens=None, measured_seq=None
        )
    return announce(request, conversation)


@require_POST
@signed_in
def choose_workspace(request: Request, pk: uuid.UUID) -> HttpResponse:
    """Let the agent's tools read another folder from now on."""
    folder = request.POST.get("folder", "").strip().strip("/")
    workspaces.choose_workspace(conversation=own_conversation(request, pk), folder=folder)
    name = folder or _("the conversation's own folder")
    messages.success(request, _("The agent reads %(folder)s from now on.") % {"folder": name})
    return redirect("chat", pk)


def announce(request: Request, conversation: Conversation) -> HttpResponse:
    """Tell every open page of the conversation that its transcript changed."""
    actions.announce_change(conversation.pk)
    return done(request, event=CHANGED, to=reverse("chat", args=[conversation.pk]))


def read_page(request: Request, conversation: Conversation) -> rows.Page:
    """Return the rows that the address asks for, the newest ones where it asks for none."""
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


@require_GET
@signed_in
def show_message_text(request: Request, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Return what a message says, for copying and editing."""
    return answer(row_pages.message_text(own_conversation(request, pk), seq))


@require_GET
@signed_in
def show_call_text(request: Request, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Return all of a tool call's input or result."""
    call, part = request.GET.get("call", ""), request.GET.get("part", "")
    return answer(row_pages.call_text(own_conversation(request, pk), seq, call, part))


@require_GET
@signed_in
def show_queued_text(request: Request, pk: uuid.UUID, nonce: uuid.UUID) -> HttpResponse:
    """Return what a message says that waits to be sent, for editing."""
    waiting = own_conversation(request, pk).queued.waiting().filter(nonce=nonce)
    return answer(waiting.values_list("text", flat=True).first())


def answer(text: str | None) -> HttpResponse:
    """Return text that no browser takes for anything else."""
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


# In one list; who wants more condenses all, or begins further down.
MOST_ENDS = 300


@require_GET
@signed_in
def show_range(request: Request, pk: uuid.UUID, seq: int) -> HttpResponse:
    """Ask up to which message to condense from this one on."""
    conversation = own_conversation(request, pk)
    try:
        ends = find_ends(message_store.read_effective(conversation.pk), seq)[:MOST_ENDS]
    except condense.NothingToCondense as reason:
        return refuse(request, str(reason))
    context = {"conversation": conversation, "first": seq, "ends": ends, "usual": _usual(ends)}
    return render(request, "chat/_range_dialog.html", context)


def _usual(ends: list[End]) -> int:
    """Return where most would end: before the next message of the user."""
    asked = (place for place, end in enumerate(ends) if end.by_user and place)
    return ends[next(asked, len(ends)) - 1].seq
