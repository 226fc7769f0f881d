"""Going back: rewind, undo a rewind, go to another version.

Each names a record, and asked again for what is done already it changes nothing, and is no
refusal: somebody clicked twice, or a line was lost before the answer came.
"""

import logging
import uuid
from dataclasses import dataclass

from django.utils.translation import gettext as _

from chatapp.conversations.locks import lock, refuse_while_running
from chatapp.conversations.versions import is_shown, show_version
from chatapp.errors import Refused
from chatapp.files.checkpoints import Change, CheckpointFailed, Checkpoints
from chatapp.models import Checkpoint, Conversation, Rewind, hidden_messages
from chatapp.toolbox.toolbox import workspace_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preview:
    """What something would hide, counted as people see it."""

    messages_hidden: int
    results_hidden: int
    condensations_hidden: int


def preview_rewind(*, conversation: Conversation, to_seq: int) -> Preview:
    """Count what a rewind to before message ``to_seq`` would hide."""
    return Preview(**hidden_messages.rewindable(conversation.pk, to_seq).count_seen())


def files_to_bring_back(*, conversation: Conversation, to_seq: int) -> tuple[list[Change], str]:
    """Return what would change in the workspace if it went back as well: files, and the lines."""
    name = _checkpoint_before(conversation, to_seq)
    if not name:
        return [], ""
    try:
        return Checkpoints(workspace_of(conversation)).changes(name)
    except CheckpointFailed:
        log.exception("the files of a checkpoint could not be compared")
        return [], ""


def _checkpoint_before(conversation: Conversation, to_seq: int) -> str:
    """Return how the files were before the first change since a message, "" without any."""
    since = Checkpoint.objects.filter(turn__conversation=conversation, seq__gte=to_seq)
    present = conversation.messages.filter(seq__gte=to_seq, rewind_parent=None).values("seq")
    first = since.filter(seq__in=present).order_by("seq").first()
    return first.name if first else ""


def _bring_back(conversation: Conversation, name: str) -> str:
    """Make the files what they were; return what they were until now."""
    try:
        return Checkpoints(workspace_of(conversation)).bring_back(name)
    except CheckpointFailed as error:
        log.exception("the files of a checkpoint could not be brought back")
        raise Refused(_("The files could not be brought back. Nothing was changed.")) from error


def rewind_conversation(
    *, conversation: Conversation, to_seq: int, key: uuid.UUID | None = None, files: bool = False
) -> Rewind:
    """Go back to before message ``to_seq``; refused while a turn runs or without such a message.

    With ``files`` those of the workspace are what they were then, too.

    The record is known by the client's ``key``: for one that was here before, nothing happens.
    """
    with lock(conversation) as locked:
        key = key or uuid.uuid4()
        if known := Rewind.objects.filter(pk=key).first():
            if known.conversation_id != locked.pk:
                raise Refused(_("This was done in another conversation. Reload the page."))
            return known
        refuse_while_running(locked)
        if not locked.messages.filter(seq=to_seq, rewind_parent=None).exists():
            raise Refused(_("This message was rewound already. Reload the page."))
        name = _checkpoint_before(locked, to_seq) if files else ""
        # The last thing that can fail comes first: it takes nothing else along.
        before = _bring_back(locked, name) if name else ""
        return hidden_messages.rewind(locked.pk, to_seq=to_seq, id=key, files_before=before)


def undo_rewind(*, rewind: Rewind) -> None:
    """Show again what the rewind hid; refused once something new was written."""
    with lock(rewind.conversation) as locked:
        fresh = Rewind.objects.filter(pk=rewind.pk)
        if fresh.exclude(undone_at=None).exists():
            return
        refuse_while_running(locked)
        if not fresh.undoable().exists():
            raise Refused(_("Something new was written since, so this rewind can't be undone."))
        files = fresh.get().files_before
        if files:
            _bring_back(locked, files)
        hidden_messages.undo_rewind(rewind)


def switch_version(*, rewind: Rewind) -> None:
    """Go to the version that a rewind set aside; refused while something runs."""
    with lock(rewind.conversation) as locked:
        fresh = Rewind.objects.get(pk=rewind.pk)
        if not is_shown(fresh):
            refuse_while_running(locked)
            show_version(locked, fresh)
