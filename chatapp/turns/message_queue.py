"""The queue of messages: each waits for the running turn, and is sent in order."""

import uuid

from django.db import transaction
from django.utils import timezone

from chatapp.conversations.composer.attachments import Expansion, find_attachments
from chatapp.conversations.context.sizes import COUNTER
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.conversations.conversations import check_message
from chatapp.models import Conversation, QueuedMessage, Turn, message_store
from chatapp.models.database import execute
from chatapp.models.errors import Refused, TooManyTurns
from chatapp.page.live.incoming_frames import SendMessage
from chatapp.project.sentences import translate as _
from chatapp.turns.lifecycle import check_turns
from chatapp.turns.turns_with_message import start_message

# More than anybody types while an answer is written.
MOST_QUEUED = 20


@transaction.atomic(savepoint=False)
def start_queued(
    conversation: Conversation, nonce: uuid.UUID, expanded: Expansion
) -> TurnContext | None:
    """Open the turn of the queued message with this nonce; None if it waits no longer.

    The expansion of its text goes with it, unless the text was changed since. Raises Refused if it
    can't begin.
    """
    row = find_queued(conversation, nonce)
    if row is None:
        return None
    if expanded.text != row.text:
        expanded = Expansion(row.text, (), COUNTER.count(row.text))
    attached = tuple([uuid.UUID(one) for one in row.attachments])
    command = SendMessage(row.text, row.nonce, attachments=attached, zone=row.zone)
    run = start_message(message_store.read_conversation(conversation.pk), command, expanded)
    remove_queued(conversation=conversation, nonce=row.nonce)
    return run


def queue_message(
    conversation: Conversation, command: SendMessage, *, for_others: bool = False
) -> bool:
    """Queue a message while a turn runs or is about to; return False if none does any more.

    It may also wait ``for_others``: its sender's turns in other conversations, while these are as
    many as allowed at once. Refused if too many wait. A message that is known changes nothing.
    """
    check_message(command.text, alone=not command.attachments)
    with transaction.atomic():
        # A turn ends under the same lock, and looks at the queue then.
        Conversation.objects.select_for_update(no_key=True).get(pk=conversation.pk)
        state = state_of(conversation, command.nonce)
        if state == "known":
            return True
        is_idle = state == "idle"
        if is_idle and not (for_others and _are_too_many(conversation)):
            return False
        find_attachments(conversation.owner, command.attachments, conversation.answering)
        if conversation.queued.waiting().count() >= MOST_QUEUED:
            raise Refused(_("Too many messages are waiting. Send this one later."))
        columns = {
            "text": command.text,
            "attachments": [str(one) for one in command.attachments],
            "zone": command.zone,
            "is_next": is_idle,
        }
        conversation.queued.create(nonce=command.nonce, **columns)
    return True


def _are_too_many(conversation: Conversation) -> bool:
    try:
        check_turns(conversation)
    except TooManyTurns:
        return True
    return False


def waiting_for_others(owner: int) -> list[Conversation]:
    """Return a user's conversations with a message that waits until fewer turns run elsewhere."""
    running = Turn.objects.unfinished().filter(conversation__owner=owner)
    waiting = QueuedMessage.objects.waiting().filter(is_next=True, conversation__owner=owner)
    there = waiting.exclude(conversation__in=running.values("conversation"))
    found = there.filter(conversation__deleted_at=None).select_related("conversation")
    return [one.conversation for one in found[:MOST_QUEUED]]


def state_of(conversation: Conversation, nonce: uuid.UUID) -> str:
    """Return "known" if the message's nonce is known, else the state of the conversation.

    That is "busy" while a turn runs, "going on" while the next queued message is about to be sent,
    and "idle".
    """
    ((queued, sent, runs, waits),) = execute(
        "SELECT EXISTS (SELECT 1 FROM chatapp_queuedmessage WHERE conversation_id = %s "
        "AND nonce = %s), EXISTS (SELECT 1 FROM chatapp_turn WHERE conversation_id = %s "
        "AND nonce = %s), EXISTS (SELECT 1 FROM chatapp_turn WHERE conversation_id = %s "
        "AND finished_at IS NULL), EXISTS (SELECT 1 FROM chatapp_queuedmessage "
        "WHERE conversation_id = %s AND gone_at IS NULL)",
        *[conversation.pk, nonce] * 2, conversation.pk, conversation.pk,
    )  # fmt: skip
    if queued or sent:
        return "known"
    if runs:
        return "busy"
    last = conversation.turns.newest() if waits else None
    return "going on" if last and last.status == Turn.Status.SUCCEEDED else "idle"


def change_queued(*, conversation: Conversation, nonce: uuid.UUID, text: str) -> None:
    """Change the text of a queued message; refused once it was sent or removed."""
    row = find_queued(conversation, nonce)
    if row:
        check_message(text, alone=not row.attachments)
    if row is None or not conversation.queued.waiting().filter(pk=row.pk).update(text=text):
        raise Refused(_("This message is no longer waiting: it was sent or removed."))


def remove_queued(*, conversation: Conversation, nonce: uuid.UUID) -> None:
    """Remove a message from the queue, if it is still there."""
    waiting = conversation.queued.waiting().filter(nonce=nonce)
    waiting.update(gone_at=timezone.now(), text="")


def find_queued(conversation: Conversation, nonce: uuid.UUID) -> QueuedMessage | None:
    """Return the queued message with this nonce, None if it waits no longer."""
    return conversation.queued.waiting().filter(nonce=nonce).first()


def find_next(conversation: Conversation, *, after_failure: bool) -> QueuedMessage | None:
    """Return the message to send now: the one asked for next or, after no failure, the oldest."""
    waiting = conversation.queued.waiting().order_by("-is_next", "pk")
    return (waiting.filter(is_next=True) if after_failure else waiting).first()


def send_next(conversation: Conversation, nonce: uuid.UUID) -> bool:
    """Have a queued message sent next, after any end of the running turn; False if none runs."""
    with transaction.atomic():
        Conversation.objects.select_for_update(no_key=True).get(pk=conversation.pk)
        if not conversation.turns.unfinished().exists():
            return False
        conversation.queued.waiting().filter(nonce=nonce).update(is_next=True)
    return True
