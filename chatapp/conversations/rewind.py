"""Rewinds, and the versions of a message or an answer: set aside, and shown again.

Each function is idempotent: to repeat a request changes nothing, and is no refusal.
"""

import logging
import uuid
from contextlib import suppress

from chatapp.agent.annotated_blocks import forgotten_by
from chatapp.conversations.files.checkpoints import Change, Checkpoints
from chatapp.conversations.locks import lock, refuse_while_running
from chatapp.conversations.toolbox.toolbox import workspace_of
from chatapp.models import Checkpoint, Conversation, Message, Rewind, hidden_messages
from chatapp.models.errors import CheckpointFailed, Refused
from chatapp.models.versions import read_versions
from chatapp.project.sentences import translate as _

log = logging.getLogger(__name__)


def preview_rewind(*, conversation: Conversation, first_hidden_seq: int) -> Rewind:
    """Return an unsaved rewind, with the counts of the messages that it would hide."""
    return Rewind(**hidden_messages.rewindable(conversation.pk, first_hidden_seq).count_seen())


def remembers(*, conversation: Conversation, first_hidden_seq: int) -> bool:
    """Return True if a rewind would restore forgotten passages."""
    hidden = hidden_messages.rewindable(conversation.pk, first_hidden_seq)
    asking = hidden.filter(forgotten__isnull=False).iterator()
    return any(any(forgotten_by(row.content)) for row in asking)


def files_to_bring_back(
    *, conversation: Conversation, first_hidden_seq: int
) -> tuple[list[Change], str]:
    """Return the files of the workspace that a rewind would change, and a diff of them."""
    name = _checkpoint_before(conversation, first_hidden_seq)
    if not name:
        return [], ""
    try:
        return Checkpoints(workspace_of(conversation)).changes(name)
    except (CheckpointFailed, Refused):
        log.exception("the files of a checkpoint could not be compared")
        return [], ""


def _checkpoint_before(conversation: Conversation, seq: int) -> str:
    """Return the name of the checkpoint before the first change since a message, "" without."""
    since = Checkpoint.objects.filter(turn__conversation=conversation, seq__gte=seq)
    present = conversation.messages.filter(seq__gte=seq, rewind_parent=None).values("seq")
    first = since.filter(seq__in=present).order_by("seq").first()
    return first.name if first else ""


def _restore_files(conversation: Conversation, name: str) -> str:
    """Restore the files of a checkpoint; return the name of one with the files until now."""
    try:
        return Checkpoints(workspace_of(conversation)).restore(name)
    except CheckpointFailed as error:
        log.exception("the files of a checkpoint could not be brought back")
        raise Refused(_("The files could not be brought back. Nothing was changed.")) from error


def _read_files(conversation: Conversation) -> None:
    """Have git read the files, so that a snapshot takes little while a lock is held."""
    with suppress(CheckpointFailed, Refused):
        Checkpoints(workspace_of(conversation)).take()


def rewind_conversation(
    *,
    conversation: Conversation,
    first_hidden_seq: int,
    key: uuid.UUID | None = None,
    files: bool = False,
) -> Rewind:
    """Hide message ``first_hidden_seq`` and all since, and return the record of it.

    Refused while a turn runs, and without such a message. With ``files`` the workspace's files are
    restored, too. If the client's ``key`` is known, nothing happens.
    """
    if files:
        _read_files(conversation)
    with lock(conversation) as locked:
        key = key or uuid.uuid4()
        if known := Rewind.objects.filter(pk=key).first():
            if known.conversation_id != locked.pk:
                raise Refused(_("This was done in another conversation. Reload the page."))
            return known
        refuse_while_running(locked)
        if not locked.messages.filter(seq=first_hidden_seq, rewind_parent=None).exists():
            raise Refused(_("This message was rewound already. Reload the page."))
        name = _checkpoint_before(locked, first_hidden_seq) if files else ""
        # Restoring files may fail, so it comes before the change of rows.
        before = _restore_files(locked, name) if name else ""
        return hidden_messages.rewind(locked.pk, first_hidden_seq, id=key, files_before=before)


def undo_rewind(*, rewind: Rewind) -> None:
    """Show again the messages that the rewind hid; refused once something new was written."""
    if rewind.files_before:
        _read_files(rewind.conversation)
    with lock(rewind.conversation) as locked:
        fresh = Rewind.objects.filter(pk=rewind.pk)
        if fresh.exclude(undone_at=None).exists():
            return
        refuse_while_running(locked)
        if not fresh.undoable().exists():
            raise Refused(_("Something new was written since, so this rewind can't be undone."))
        files = fresh.get().files_before
        if files:
            _restore_files(locked, files)
        hidden_messages.undo_rewind(rewind)


def switch_version(*, rewind: Rewind) -> None:
    """Go to the version that a rewind set aside; refused while something runs."""
    with lock(rewind.conversation) as locked:
        fresh = Rewind.objects.get(pk=rewind.pk)
        versions = read_versions(locked.pk).get((fresh.cause, fresh.root_seq or 0))
        if fresh.undone_at is None or versions is None or versions.shown != fresh.version:
            refuse_while_running(locked)
            show_version(locked, fresh)


def set_message_aside(conversation: Conversation, seq: int) -> None:
    """Make room for an edit of a message of the user that is part of the conversation."""
    if not conversation.messages.questions().in_force().filter(seq=seq).exists():
        raise Refused(_("This message can't be edited any more. Reload the page."))
    known = read_versions(conversation.pk).items()
    edited = Rewind.Cause.EDITED
    roots = (root for (cause, root), one in known if cause == edited and one.starts_at(seq))
    _set_aside(conversation, edited, root_seq=next(roots, seq), first_seq=seq)


def set_answer_aside(conversation: Conversation, seq: int) -> int:
    """Make room for another answer instead of the one that ``seq`` is part of.

    Returns the seq of the question.
    """
    present = conversation.messages.in_force()
    answers = present.written().filter(role=Message.Role.ASSISTANT)
    answer = answers.select_related("turn").filter(seq=seq).first()
    if answer and answer.turn:
        question_seq = answer.turn.question_seq
    else:
        question = present.questions().filter(seq__lt=seq).newest() if answer else None
        question_seq = question.seq if question else 0
    if not question_seq:
        raise Refused(_("This answer can't be asked for again. Reload the page."))
    first = answers.filter(seq__gt=question_seq).earliest("seq")
    _set_aside(conversation, Rewind.Cause.REGENERATED, root_seq=question_seq, first_seq=first.seq)
    return question_seq


def set_tail_aside(
    conversation: Conversation,
    first_seq: int,
    root_seq: int,
    cause: Rewind.Cause = Rewind.Cause.REGENERATED,
) -> None:
    """Set aside all since ``first_seq``, for another version behind ``root_seq`` from a client."""
    is_question = conversation.messages.questions().in_force().filter(seq=first_seq).exists()
    if is_question and cause == Rewind.Cause.REGENERATED:
        set_message_aside(conversation, first_seq)
    else:
        _set_aside(conversation, cause, root_seq=root_seq, first_seq=first_seq)


def _set_aside(
    conversation: Conversation, cause: Rewind.Cause, *, root_seq: int, first_seq: int
) -> None:
    """Rewind the version that is shown; ``first_seq`` is its beginning if it is the only one."""
    versions = read_versions(conversation.pk).get((cause, root_seq))
    hidden_messages.rewind(
        conversation.pk,
        first_hidden_seq=versions.start if versions else first_seq,
        cause=cause,
        root_seq=root_seq,
        version=versions.shown if versions else 1,
    )


def show_version(conversation: Conversation, rewind: Rewind) -> None:
    """Go to the version that a rewind set aside: the model goes on from there."""
    versions = read_versions(conversation.pk).get((rewind.cause, rewind.root_seq or 0))
    in_force = rewind.undone_at is None and rewind.rewind_parent is None
    if versions is None or not in_force:
        raise Refused(_("This version can't be shown from here any more. Reload the page."))
    hidden_messages.rewind(
        conversation.pk,
        first_hidden_seq=versions.start,
        cause=rewind.cause,
        root_seq=rewind.root_seq,
        version=versions.shown,
        brings_back=rewind,
    )
    hidden_messages.undo_rewind(rewind)
