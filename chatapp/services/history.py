"""Going back: rewind, undo a rewind, undo or redo a condensation, go to another version.

Each names a record, and asked again for what is done already it changes nothing, and is no
refusal: somebody clicked twice, or a line was lost before the answer came.
"""

import logging
import uuid
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.context import budgets, sizes
from chatapp.context.checkpoints import Change, CheckpointFailed, Checkpoints
from chatapp.context.toolboxes import workspace_of
from chatapp.models import Checkpoint, Condensation, Conversation, Message, Rewind, hiding, store
from chatapp.models.conversations import MessageQuerySet
from chatapp.rendering.numbers import number
from chatapp.services.accounts import preferences_of
from chatapp.services.errors import Refused
from chatapp.services.locks import lock, refuse_while_running
from chatapp.services.versions import is_shown, show_version

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preview:
    """What something would hide, counted as people see it."""

    messages_hidden: int
    results_hidden: int
    condensations_hidden: int


def preview_rewind(*, conversation: Conversation, to_seq: int) -> Preview:
    """Count what a rewind to before message ``to_seq`` would hide."""
    return Preview(**hiding.rewindable(conversation.pk, to_seq).count_seen())


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
        return hiding.rewind(locked.pk, to_seq=to_seq, id=key, files_before=before)


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
        hiding.undo_rewind(rewind)


def switch_version(*, rewind: Rewind) -> None:
    """Go to the version that a rewind set aside; refused while something runs."""
    with lock(rewind.conversation) as locked:
        fresh = Rewind.objects.get(pk=rewind.pk)
        if not is_shown(fresh):
            refuse_while_running(locked)
            show_version(locked, fresh)


def list_hidden(*, condensation: Condensation) -> MessageQuerySet:
    """Return the messages a condensation hid, or whose results it cleared, in reading order."""
    made = condensation.message
    messages = Message.objects.filter(conversation=condensation.conversation_id)
    if made is None:
        return messages.none()
    return messages.filter(hiding.named_by([made]) | Q(pk__in=made.cleared)).in_reading_order()


def undo_condensation(*, condensation: Condensation) -> None:
    """Bring the originals back into what the model sees; refused when they would not fit."""
    with lock(condensation.conversation) as locked:
        attempt = Condensation.objects.select_related("message").get(pk=condensation.pk)
        message = attempt.message
        if attempt.status == Condensation.Status.UNDONE:
            return
        refuse_while_running(locked)
        if attempt.status != Condensation.Status.SUCCEEDED or message is None:
            raise Refused(_("Only a condensation in force can be undone."))
        if message.hidden:
            raise Refused(_("A later condensation or rewind hides this one. Undo that first."))
        hiding.undo_reduction(message)
        _refuse_if_too_large(locked)
        Condensation.objects.filter(pk=attempt.pk).change(
            status=Condensation.Status.UNDONE, undone_at=timezone.now()
        )


def redo_condensation(*, condensation: Condensation) -> None:
    """Take an undo back: the summary stands again for what it hid, and what came since follows it.

    Refused where that is not all visible again, or something else has come to stand between.
    """
    with lock(condensation.conversation) as locked:
        attempt = Condensation.objects.select_related("message").get(pk=condensation.pk)
        message = attempt.message
        if attempt.status == Condensation.Status.SUCCEEDED:
            return
        refuse_while_running(locked)
        if attempt.status != Condensation.Status.UNDONE or message is None:
            raise Refused(_("Only a condensation that was undone can be redone."))
        if message.rewind_parent:
            raise Refused(_("A rewind took this condensation along. Undo the rewind first."))
        if not hiding.redo_reduction(message):
            raise Refused(
                _(
                    "What this hid is not all in sight of the model: another condensation or "
                    "a rewind hides part of it, or one that it went on from was undone. "
                    "Take that back first."
                )
            )
        Condensation.objects.filter(pk=attempt.pk).change(
            status=Condensation.Status.SUCCEEDED, undone_at=None, redone_at=timezone.now()
        )


def put_back(*, condensation: Condensation, index: int) -> None:
    """Tell the model a fact again that a condensation lost, as a message of its own."""
    with lock(condensation.conversation) as locked:
        row = Condensation.objects.get(pk=condensation.pk)
        receipt = row.receipt
        if index >= len(receipt.findings):
            raise Refused(_("There is no such fact in this record."))
        if receipt.findings[index].state == "kept":
            return
        refuse_while_running(locked)
        block = _put_back_block(receipt.findings[index].probe)
        message = condense.Message(role="user", content=(block,))
        tokens = condense.count_message(message, budgets.COUNTER)
        store.append_message(locked.pk, message, tokens=tokens)
        Condensation.objects.filter(pk=row.pk).change(receipt=receipt.with_kept(index))


def _put_back_block(fact: condense.Probe) -> condense.TextBlock:
    """Return what the model is told; it is the user's own choice, so it is said as theirs."""
    kind = fact.kind.replace("_", " ")
    return condense.TextBlock(
        f"From the part of this conversation that the summary replaces ({kind}): {fact.text}"
    )


def _refuse_if_too_large(conversation: Conversation) -> None:
    """Raise inside the transaction, so that what does not fit is as it was."""
    profile = conversation.profile
    if profile is None:
        return
    budget = budgets.budget_for(profile, preferences_of(conversation.owner))
    conversation.refresh_from_db(fields=["measured_tokens", "measured_seq"])
    tokens = sizes.context_size(conversation, profile, store.read_effective(conversation.pk))
    if tokens.value > budget.capacity:
        raise Refused(
            _(
                "The originals don't fit: about %(tokens)s tokens, where %(allowed)s fit. "
                "Choose a profile with a larger window, or rewind to before instead."
            )
            % {
                "tokens": number(tokens.value),
                "allowed": number(budget.capacity),
            }
        )
