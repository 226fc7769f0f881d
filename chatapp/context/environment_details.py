"""Environment details beside a message: the time, files, the to-do list, the context's size."""

import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.utils import timezone

from chatapp.accounts.accounts import preferences_of
from chatapp.agent.errors import ToolError
from chatapp.agent.prompts import BROKEN, CLOSING
from chatapp.models import Conversation, Message, ToolRun, message_store
from chatapp.models.calls import good_runs
from chatapp.number_formats import zone_named
from chatapp.toolbox.toolbox import folder_of
from chatapp.tools.update_todo_list import SPEC, read_items
from chatapp.tools.workspace import Workspace

# The latest calls that are looked at: a rewind may have taken some back.
LOOKED_AT = 5


@dataclass(frozen=True, slots=True)
class TodoList:
    """Items, each with its state: "x" done, "-" in progress, " " to do."""

    items: Sequence[tuple[str, str]]

    @property
    def done(self) -> int:
        """How many are done."""
        return sum(state == "x" for state, _text in self.items)

    @property
    def current(self) -> str:
        """What is in progress, or else the first thing to do; "" where all is done."""
        texts = dict(reversed(self.items))
        return texts.get("-") or texts.get(" ", "")


def read_todo(conversation: Conversation) -> TodoList | None:
    """Return the list as it stands in a conversation, None where there is none."""
    runs = good_runs(conversation.pk, SPEC.name, LOOKED_AT)
    return next(filter(None, map(_call_of, runs)), None)


def _call_of(run: ToolRun) -> TodoList | None:
    """Return the list that a run was called with, None where its call was taken back."""
    said = Message.objects.filter(turn=run.turn_id, role=Message.Role.ASSISTANT, rewind_parent=None)
    for row in said.filter(created_at__lte=run.started_at).order_by("-seq")[:LOOKED_AT]:
        for call in message_store.to_engine(row).tool_uses:
            if call.id == run.call_id and isinstance(call.input, dict):
                try:
                    return TodoList(read_items(str(call.input.get("todos", ""))))
                except ToolError:
                    return None
    return None


# Entries of the workspace's folder; the agent can list the rest.
MOST_FILES = 60


def describe_surroundings(conversation: Conversation, zone: str) -> str:
    """Return what goes beside a message that is sent now, "" where its owner wants nothing."""
    if not preferences_of(conversation.owner).environment_details:
        return ""
    now = timezone.now().astimezone(place := zone_named(zone))
    todo = read_todo(conversation) if conversation.last_seq else None
    profile, used = conversation.profile, conversation.measured_tokens
    context = ""
    if profile and used is not None:
        window = f"{profile.context_window:,} tokens were in use after the last call."
        context = f"About {used:,} of {window}"
    folder, found = folder_of(conversation), []
    if folder.is_dir():
        with suppress(ToolError):
            entries = Workspace(folder).walk(recursive=False)
            found = [*itertools.islice(entries, MOST_FILES + 1)]
    lines = [f"{one.path}/" if one.kind == "folder" else one.path for one in found[:MOST_FILES]]
    if len(found) > MOST_FILES:
        lines.append("[and more: list the folder]")
    return _describe(
        now=f"{now:%A, %Y-%m-%d %H:%M} ({place}, UTC{now:%:z})",
        files="\n".join(lines) or "none",
        todo="\n".join([f"[{state}] {text}" for state, text in todo.items]) if todo else "",
        context=context,
    )


def _describe(*, now: str, files: str, todo: str = "", context: str = "") -> str:
    """Return the environment details that go beside a message, and into an automatic summary."""
    parts = {
        "Current time": now,
        "Files in the workspace": files,
        "To-do list": todo,
        "Context window": context,
    }
    told = "\n".join([f"# {name}\n{text}" for name, text in parts.items() if text])
    return f"<environment_details>\n{CLOSING.sub(BROKEN, told)}\n</environment_details>"
