"""Messages that wait for what runs: put there, changed, removed, and sent in their turn."""

import uuid
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

import condense
from chatapp.composer.attachments import NOTHING, Brought, find_attachments
from chatapp.context import sizes
from chatapp.context.environment_details import describe_surroundings
from chatapp.context.turn_context import TurnContext, read_run
from chatapp.conversations.conversations import check_message
from chatapp.errors import Refused
from chatapp.models import Conversation, QueuedMessage, Turn, message_store
from chatapp.models.pending_messages import QueuedMessageQuerySet
from chatapp.turns.lifecycle import start_turn

# More than anybody types while an answer is written.
MOST_QUEUED = 20


def queue_message(
    *,
    conversation: Conversation,
    text: str,
    nonce: uuid.UUID,
    attachments: Sequence[uuid.UUID] = (),
) -> None:
    """Let a message wait for the end of what runs; refused where too many do."""
    check_message(text, alone=not attachments)
    with transaction.atomic():
        Conversation.objects.select_for_update().get(pk=conversation.pk)
        find_attachments(conversation.owner, attachments, conversation.profile)
        if conversation.queued.waiting().count() >= MOST_QUEUED:
            raise Refused(_("Too many messages wait already. Send this one later."))
        columns = {"text": text, "attachments": [str(one) for one in attachments]}
        conversation.queued.get_or_create(nonce=nonce, defaults=columns)


def was_queued(conversation: Conversation, nonce: uuid.UUID) -> bool:
    """Whether a message with this nonce waits or did."""
    return conversation.queued.filter(nonce=nonce).exists()


def change_queued(*, conversation: Conversation, nonce: uuid.UUID, text: str) -> None:
    """Give a message that waits another text; refused once it was sent or removed."""
    row = conversation.queued.waiting().filter(nonce=nonce).first()
    check_message(text, alone=not (row and row.attachments))
    if row is None or not conversation.queued.waiting().filter(pk=row.pk).update(text=text):
        raise Refused(_("This message does not wait any more: it was sent or removed."))


def remove_queued(*, conversation: Conversation, nonce: uuid.UUID) -> None:
    """Take a message out of the queue, if it is still there."""
    _take(conversation.queued.waiting().filter(nonce=nonce))


def find_queued(conversation: Conversation, nonce: uuid.UUID | None) -> QueuedMessage | None:
    """Return a message that waits, the next one unless named; None without any."""
    found = conversation.queued.waiting()
    return found.first() if nonce is None else found.filter(nonce=nonce).first()


def send_queued(
    conversation: Conversation,
    nonce: uuid.UUID | None = None,
    brought: Brought = NOTHING,
    *,
    surroundings: str = "",
) -> tuple[Turn, condense.Message] | None:
    """Open the turn of a message that waits, the next one unless named; None without any.

    What its text has ``brought`` goes with it, unless the text was changed since.
    """
    row = find_queued(conversation, nonce)
    if row is None:
        return None
    with transaction.atomic():
        tokens = sizes.COUNTER.count(row.text)
        started = start_turn(
            conversation=conversation,
            text=row.text,
            tokens=tokens,
            nonce=row.nonce,
            attachments=[uuid.UUID(one) for one in row.attachments],
            brought=brought if brought.text == row.text else NOTHING,
            surroundings=surroundings,
        )
        _take(conversation.queued.waiting().filter(pk=row.pk))
    return started


def _take(rows: QueuedMessageQuerySet) -> None:
    rows.update(gone_at=timezone.now(), text="")


@transaction.atomic
def start_queued(
    conversation: Conversation, nonce: uuid.UUID | None, brought: Brought, zone: str
) -> tuple[TurnContext, condense.Message] | None:
    """Open the turn of a message that waits, the next one unless named; None without any.

    Raises Refused where it can't begin.
    """
    around = describe_surroundings(message_store.read_conversation(conversation.pk), zone)
    started = send_queued(conversation, nonce, brought, surroundings=around)
    return (read_run(conversation, turn=started[0]), started[1]) if started else None
