"""Slash commands: the composer's list, their help, and a fresh conversation."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render

from chatapp.conversations.composer import slash_commands
from chatapp.conversations.composer.mentions import find_paths, mention_of
from chatapp.conversations.toolbox.toolbox import folder_of
from chatapp.models import Conversation
from chatapp.project.sentences import translate as _
from chatapp.tools.command_syntax import SlashCommand
from chatapp.tools.workspace import Workspace
from chatapp.web.views.common import UserRequest, in_conversation, own_conversation, signed_in

# Characters of a command's text that are shown before it is sent; and of a path.
PREVIEW = 600
LONGEST_PATH = 400


@signed_in("GET")
def list_commands(request: UserRequest, pk: uuid.UUID | None = None) -> JsonResponse:
    """Return the slash commands for the composer."""
    # On the first page, these are the user's own and the built-in ones that work anywhere.
    built_in = [one for one in slash_commands.BUILT_IN if pk or one.anywhere]
    offered: list[tuple[Any, ...]] = [(o.name, o.hint, o.description, None) for o in built_in]
    for own in _own_commands(request, pk):
        text = own.text[:PREVIEW] + "…" * (len(own.text) > PREVIEW)
        offered.append((own.name, own.hint, own.description, text))
    columns = ("name", "hint", "description", "text")
    return JsonResponse({"commands": [dict(zip(columns, one, strict=True)) for one in offered]})


@signed_in("GET")
def show_help(request: UserRequest, pk: uuid.UUID | None = None) -> HttpResponse:
    """Show the slash commands in a dialog, with those of a conversation if it is open."""
    context = {"built_in": slash_commands.BUILT_IN, "own": _own_commands(request, pk)}
    return render(request, "chat/_commands_dialog.html", context)


def _own_commands(request: UserRequest, pk: uuid.UUID | None) -> list[SlashCommand]:
    """Return the user's own commands, and those of a conversation's workspace, by name."""
    if pk is None:
        own = slash_commands.saved_commands(request.user)
    else:
        own = slash_commands.own_commands(own_conversation(request, pk))
    return [own[name] for name in sorted(own)]


@in_conversation("GET")
def complete_path(request: UserRequest, conversation: Conversation) -> JsonResponse:
    """Return the paths of the workspace that best match the typed text."""
    typed = request.GET.get("q", "")[:LONGEST_PATH]
    found = find_paths(Workspace(folder_of(conversation)), typed)
    paths = [
        {"path": path, "mention": mention_of(path), "folder": path.endswith("/")} for path in found
    ]
    return JsonResponse({"paths": paths})


@in_conversation("POST")
def begin_again(request: UserRequest, conversation: Conversation) -> HttpResponse:
    """Start a new conversation with the same profile and workspace; this one stays."""
    made = slash_commands.begin_again(conversation=conversation)
    words = _(
        "This is a new conversation with the same profile and workspace. The earlier one is "
        "unchanged, in the list."
    )
    messages.info(request, words)
    return redirect("chat", made.pk)
