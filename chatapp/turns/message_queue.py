"""Messages: one begins a turn at once, or waits for what runs, and is sent in its turn."""

import uuid
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp.composer.attachments import Brought, find_attachments
from chatapp.context.environment_details import describe_surroundings
from chatapp.context.sizes import COUNTER
from chatapp.context.turn_context import TurnContext, read_run
from chatapp.conversations.conversations import check_message
from chatapp.errors import Refused
from chatapp.live.incoming_frames import SendMessage
from chatapp.models import Conversation, QueuedMessage, message_store
from chatapp.turns.lifecycle import start_turn

# More than anybody types while an answer is written.
MOST_QUEUED = 20


@transaction.atomic
def start_message(
    conversation: Conversation, command: SendMessage, brought: Brought
) -> TurnContext | None:
    """Store a message and open its turn; None where its nonce was here before.

    Raises Refused where it can't begin.
    """
    started = start_turn(
        conversation=conversation,
        text=command.text,
        tokens=brought.tokens,
        nonce=command.nonce,
        replaces=command.replaces,
        drops=command.drops,
        attachments=command.attachments,
        brought=brought,
        surroundings=describe_surroundings(conversation, command.zone),
    )
    if started is None:
        return None
    turn, message = started
    # An edit takes the place of something: all is shown anew.
    question = message if command.replaces is None else None
    return read_run(conversation, turn=turn, question=question)


@transaction.atomic
def start_queued(
    conversation: Conversation, nonce: uuid.UUID | None, brought: Brought, zone: str = ""
) -> TurnContext | None:
    """Open the turn of a message that waits, the next one unless named; None without any.

    What its text has ``brought`` goes with it, unless the text was changed since. Raises Refused
    where it can't begin.
    """
    row = find_queued(conversation, nonce)
    if row is None:
        return None
    if brought.text != row.text:
        brought = Brought(row.text, (), COUNTER.count(row.text))
    attached = tuple([uuid.UUID(one) for one in row.attachments])
    command = SendMessage(row.text, row.nonce, attachments=attached, zone=zone)
    run = start_message(message_store.read_conversation(conversation.pk), command, brought)
    remove_queued(conversation=conversation, nonce=row.nonce)
    return run


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
        Conversation.objects.select_for_update(no_key=True).get(pk=conversation.pk)
        find_attachments(conversation.owner, attachments, conversation.profile)
        if conversation.queued.waiting().count() >= MOST_QUEUED:
            raise Refused(_("Too many messages are waiting. Send this one later."))
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
        raise Refused(_("This message is no longer waiting: it was sent or removed."))


def remove_queued(*, conversation: Conversation, nonce: uuid.UUID) -> None:
    """Take a message out of the queue, if it is still there."""
    waiting = conversation.queued.waiting().filter(nonce=nonce)
    waiting.update(gone_at=timezone.now(), text="")


def find_queued(conversation: Conversation, nonce: uuid.UUID | None) -> QueuedMessage | None:
    """Return a message that waits, the next one unless named; None without any."""
    found = conversation.queued.waiting()
    return found.first() if nonce is None else found.filter(nonce=nonce).first()
