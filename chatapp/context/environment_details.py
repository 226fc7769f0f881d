"""Environment details beside a message: the time, files, the to-do list, the context's size."""

import itertools
from datetime import tzinfo

from django.contrib.auth.models import User
from django.utils import timezone

from chatapp.agent.errors import ToolError
from chatapp.agent.prompts import describe_environment
from chatapp.context import todo_list
from chatapp.formats import zone_named
from chatapp.models import Conversation, Preferences
from chatapp.toolbox.toolbox import folder_of
from chatapp.tools.workspace import Workspace

# Entries of the workspace's folder; the agent can list the rest.
MOST_FILES = 60


def describe_surroundings(conversation: Conversation, zone: str) -> str:
    """Return what goes beside a message that is sent now, "" where its owner wants nothing."""
    if not _is_wanted(conversation.owner):
        return ""
    todo = todo_list.read_todo(conversation) if conversation.last_seq else None
    return describe_environment(
        now=_now(zone_named(zone)),
        files=_files(conversation),
        todo="\n".join(f"[{state}] {text}" for state, text in todo.items) if todo else "",
        context=_context(conversation),
    )


def _is_wanted(owner: User) -> bool:
    try:
        return owner.preferences.environment_details
    except Preferences.DoesNotExist:
        return True


def _now(zone: tzinfo) -> str:
    now = timezone.now().astimezone(zone)
    return f"{now:%A, %Y-%m-%d %H:%M} ({zone}, UTC{now:%:z})"


def _files(conversation: Conversation) -> str:
    entries = Workspace(folder_of(conversation)).walk(recursive=False)
    try:
        found = list(itertools.islice(entries, MOST_FILES + 1))
    except ToolError:
        found = []
    lines = [f"{one.path}/" if one.kind == "folder" else one.path for one in found[:MOST_FILES]]
    if len(found) > MOST_FILES:
        lines.append("[and more: list the folder]")
    return "\n".join(lines) or "none"


def _context(conversation: Conversation) -> str:
    profile, tokens = conversation.profile, conversation.measured_tokens
    if profile is None or tokens is None:
        return ""
    return f"About {tokens:,} of {profile.context_window:,} tokens were in use after the last call."
