"""Going back: rewind, undo a rewind, undo a condensation."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.context import budgets, sizes
from chatapp.models import Condensation, Conversation, Message, Rewind, Turn, store
from chatapp.models.conversations import MessageQuerySet
from chatapp.rendering.numbers import number
from chatapp.services.accounts import preferences_of
from chatapp.services.errors import Refused


@dataclass(frozen=True, slots=True)
class RewindPreview:
    """What a rewind would hide."""

    messages: int
    condensations: int


def preview_rewind(*, conversation: Conversation, to_seq: int) -> RewindPreview:
    """Count what a rewind to before message ``to_seq`` would hide."""
    affected = Message.objects.filter(
        conversation=conversation, seq__gte=to_seq, rewind_parent=None
    )
    counts = store.count_rewound(affected)
    return RewindPreview(counts["messages_hidden"], counts["condensations_hidden"])


def rewind_conversation(*, conversation: Conversation, to_seq: int) -> Rewind:
    """Go back to before message ``to_seq``; refused while a turn runs or without such a message."""
    _refuse_while_running(conversation)
    target = Message.objects.filter(conversation=conversation, seq=to_seq, rewind_parent=None)
    if not target.exists():
        raise Refused(_("This message was rewound already. Reload the page."))
    return store.rewind(conversation.pk, to_seq=to_seq)


def undo_rewind(*, rewind: Rewind) -> None:
    """Show again what the rewind hid; refused once something new was written."""
    _refuse_while_running(rewind.conversation)
    latest = Rewind.objects.filter(conversation=rewind.conversation_id).undoable()
    if rewind != latest.order_by("-created_at").first():
        raise Refused(_("Something new was written since, so this rewind can't be undone."))
    store.undo_rewind(rewind)


def has_undoable_rewind(conversation: Conversation) -> bool:
    """Whether the newest thing that happened is a rewind, which can be taken back."""
    return Rewind.objects.filter(conversation=conversation).undoable().exists()


def list_hidden(*, condensation: Condensation) -> MessageQuerySet:
    """Return the messages a condensation hid, or whose results it cleared, in reading order."""
    made = condensation.message
    messages = Message.objects.filter(conversation=condensation.conversation_id)
    if made is None:
        return messages.none()
    return messages.filter(store.named_by([made]) | Q(pk__in=made.cleared)).in_reading_order()


def undo_condensation(*, condensation: Condensation) -> None:
    """Bring the originals back into what the model sees; refused when they would not fit."""
    conversation = condensation.conversation
    _refuse_while_running(conversation)
    message = condensation.message
    if condensation.status != Condensation.Status.SUCCEEDED or message is None:
        raise Refused(_("Only a condensation in force can be undone."))
    if message.hidden:
        raise Refused(_("A later condensation or rewind hides this one. Undo that first."))
    with transaction.atomic():
        store.undo_reduction(message)
        _refuse_if_too_large(conversation)
        Condensation.objects.filter(pk=condensation.pk).update(
            status=Condensation.Status.UNDONE, undone_at=timezone.now()
        )


def put_back(*, condensation: Condensation, index: int) -> None:
    """Tell the model a fact again that a condensation lost, as a message of its own."""
    conversation = condensation.conversation
    _refuse_while_running(conversation)
    with transaction.atomic():
        row = Condensation.objects.select_for_update().get(pk=condensation.pk)
        if index >= len(row.receipt) or row.receipt[index]["state"] == "kept":
            raise Refused(_("The model has this fact already. Reload the page."))
        message = condense.Message(role="user", content=(_put_back_block(row.receipt[index]),))
        tokens = condense.count_message(message, budgets.COUNTER)
        store.append_message(conversation.pk, message, tokens=tokens)
        row.receipt[index]["state"] = "kept"
        row.save(update_fields=["receipt"])


def _put_back_block(finding: Mapping[str, str]) -> condense.TextBlock:
    """Return what the model is told; it is the user's own choice, so it is said as theirs."""
    kind = finding["kind"].replace("_", " ")
    return condense.TextBlock(
        f"From the part of this conversation that the summary replaces ({kind}): {finding['text']}"
    )


def _refuse_while_running(conversation: Conversation) -> None:
    busy = Turn.Status.RUNNING
    if conversation.turns.filter(status=busy).exists():
        raise Refused(_("A turn is running. Stop it first."))
    if conversation.condensations.filter(status=Condensation.Status.RUNNING).exists():
        raise Refused(_("The context is being condensed. Cancel that first."))


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
