"""Whether the model still has what is pinned, byte for byte."""

import uuid
from collections.abc import Sequence

from django.utils.translation import gettext as _

import condense
from chatapp.models import Message, Pin, store


def find_broken(conversation_id: uuid.UUID, effective: Sequence[condense.Message]) -> str:
    """Return what is wrong with the first pin that does not hold, "" where all do."""
    for pin in Pin.objects.in_force(conversation_id).select_related("message").order_by("seq"):
        if not pin.holds:
            said = _("Message %s is not what it was when it was pinned. Take its pin off first.")
        elif not condense.shows_pin(effective, store.to_engine(pin.message)):
            said = _(
                "The model would not see message %s word for word, and it is pinned. "
                "Take its pin off, or undo first what hides it."
            )
        else:
            continue
        return said % pin.seq
    return ""


def with_unpinned(
    conversation_id: uuid.UUID, effective: Sequence[condense.Message]
) -> tuple[condense.Message, ...]:
    """Return what the model sees with the messages that a summary carries and need not any more.

    Nothing where there are none: then what is visible says all about pins.
    """
    carried = [int(one) for one in condense.carried_pin_ids(effective) if one.isdecimal()]
    rows = Message.objects.filter(conversation=conversation_id, pk__in=carried, pinned=None)
    unpinned = [store.to_engine(row) for row in rows] if carried else []
    return tuple(sorted((*unpinned, *effective), key=lambda one: one.order)) if unpinned else ()
