"""What changes a conversation's context has it for itself, and loses nothing that is pinned."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.utils.translation import gettext as _

from chatapp.context.pins import find_broken
from chatapp.models import Conversation, store
from chatapp.services.errors import Refused


@contextmanager
def lock(conversation: Conversation, *, keeps_pins: bool = True) -> Iterator[Conversation]:
    """Lock a conversation for one transaction; refused where a pin would not hold after it.

    Without ``keeps_pins`` nobody looks: what only takes pins off is open however many are broken.
    """
    with transaction.atomic():
        yield Conversation.objects.select_for_update().get(pk=conversation.pk)
        if keeps_pins and conversation.pins.exists():
            broken = find_broken(conversation.pk, store.read_effective(conversation.pk))
            if broken:
                raise Refused(broken)


def refuse_while_running(conversation: Conversation) -> None:
    """Raise Refused while a turn runs or the context is condensed."""
    turn = conversation.turns.unfinished().first()
    if turn and turn.condenses:
        raise Refused(_("The context is being condensed. Cancel that first."))
    if turn:
        raise Refused(_("A turn is running. Stop it first."))
