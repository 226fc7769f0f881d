"""Workspaces: the folders below WORKSPACES_ROOT that a user's conversations may read.

``users/<number of the user>/…``   that user's own
``samples`` and SHARED_WORKSPACES  everybody's
``<id of a conversation>``         that conversation's, until it chooses another
anything else                      those of the superusers, who run the server
"""

import os
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from chatapp.conversations.context import sizes
from chatapp.conversations.toolbox.toolbox import OWN, SAMPLES, may_read, no_folder, place_of
from chatapp.models import Conversation
from condense import open_folder

LONGEST_WORKSPACE_PATH = 400

# With system prompt and tools the last file fills the offline stand-in's window; all of them and
# the answer fit after an undo.
TOKENS = 11_200
# A file's tokens without its text: a call and its result.
FRAME = 100
# Their least size, however much the tools take: fewer would not be worth reading.
LEAST = 4_000
_CUT = "[The rest of {name} is left out of these samples.]\n"


def choose_workspace(*, conversation: Conversation, folder: str) -> None:
    """Let the tools read another folder of the owner's, or "" for its own; refused if missing."""
    found = _find(conversation.owner, folder) if folder else ""
    Conversation.objects.filter(pk=conversation.pk).update(workspace=found)


def _find(owner: User, folder: str) -> str:
    """Return the path below WORKSPACES_ROOT of the user's own or a shared folder."""
    for path in (f"{OWN}/{owner.pk}/{folder}", folder):
        found = os.path.normpath(path)
        if len(found) <= LONGEST_WORKSPACE_PATH and may_read(owner.pk, found):
            with suppress(OSError, ValueError), open_folder(place_of(found)):
                return found
    raise no_folder(owner.pk, folder)


def lay_out_samples(*, beside: int) -> None:
    """Write the documentation into the workspace ``SAMPLES``.

    ``beside`` is the number of other tokens in every request.
    """
    folder = Path(settings.WORKSPACES_ROOT) / SAMPLES
    folder.mkdir(parents=True, exist_ok=True)
    base = Path(settings.BASE_DIR)
    files = (base / "README.md", *sorted((base / "docs").glob("*.md")))
    waiting = {file: file.read_text("utf-8") for file in files}
    left = max(TOKENS - beside - FRAME * len(files), LEAST)
    # The shortest first: the part of its share that it does not need is left to the others.
    for file in sorted(files, key=lambda one: len(waiting[one])):
        text, room = waiting[file], left // len(waiting)
        if _size(text) > room:
            # The lines that fit, and one that says so.
            note, lines = _CUT.format(name=file.name), []
            room -= _size(note)
            for line in text.splitlines(keepends=True):
                room -= _size(line)
                if room < 0:
                    break
                lines.append(line)
            text = "".join(lines) + note
        left -= _size(text)
        del waiting[file]
        (folder / file.name).write_text(text, "utf-8")


def _size(text: str) -> int:
    """Return the approximate tokens of a text when it is read, with a number for each line."""
    return sizes.COUNTER.count(text) + 2 * text.count("\n")
