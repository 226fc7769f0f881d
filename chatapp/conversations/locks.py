"""Locks on a conversation for one change: pins have to hold after it, and no turn may run."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction

import condense
from chatapp.models import Conversation, Message, Pin, message_store
from chatapp.models.database import locking, select
from chatapp.models.errors import Refused
from condense import noop

CLIENTS = noop("Another program writes this conversation. Choose “Continue here” first.")


def find_broken(conversation_id: uuid.UUID, effective: Sequence[condense.Message]) -> str:
    """Return the problem with the first pin that does not hold, "" if all do."""
    for pin in Pin.objects.in_force(conversation_id).select_related("message").order_by("seq"):
        if not pin.holds:
            said = noop("Message {seq} is not what it was when it was pinned. Unpin it first.")
        elif not condense.shows_pin(effective, message_store.to_engine(pin.message)):
            said = noop(
                "The model would not see message {seq} word for word, and it is pinned. Unpin it, "
                "or first undo what hides it."
            )
        else:
            continue
        return said.format(seq=pin.seq)
    return ""


def with_unpinned(
    conversation_id: uuid.UUID, effective: Sequence[condense.Message]
) -> tuple[condense.Message, ...]:
    """Return the effective history with unpinned messages of summaries; () if there are none."""
    # Without such messages the visible ones are enough to check pins.
    carried = [int(one) for one in condense.carried_pin_ids(effective) if one.isdecimal()]
    rows = Message.objects.filter(conversation=conversation_id, pk__in=carried, pinned=None)
    unpinned = [message_store.to_engine(row) for row in rows] if carried else []
    return tuple(sorted((*unpinned, *effective), key=lambda one: one.order)) if unpinned else ()


@contextmanager
def lock(conversation: Conversation, *, keeps_pins: bool = True) -> Iterator[Conversation]:
    """Lock a conversation for one transaction; refused if a pin would not hold after it.

    Without ``keeps_pins`` nothing is checked: pins can be taken off even while some are broken.
    """
    with transaction.atomic():
        sql = f"SELECT * FROM chatapp_conversation WHERE id = %s{locking()}"  # noqa: S608 - a constant
        (found,) = select(Conversation, sql, conversation.pk)
        yield found
        if keeps_pins and conversation.pins.exists():
            broken = find_broken(conversation.pk, message_store.read_effective(conversation.pk))
            if broken:
                raise Refused(broken)


def refuse_while_running(conversation: Conversation, *, lets_client: bool = False) -> None:
    """Raise Refused while a turn runs, the context is condensed, or another program writes."""
    if conversation.writer and not lets_client:
        raise Refused(CLIENTS)
    turn = conversation.turns.unfinished().first()
    if turn and turn.condenses:
        raise Refused(noop("The context is being condensed. Cancel that first."))
    if turn:
        raise Refused(noop("A turn is running. Stop it first."))
