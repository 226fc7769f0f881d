"""Pins: messages that the model keeps word for word."""

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp.models import Conversation, Message, Pin, store
from chatapp.models.pins import digest_of
from chatapp.rendering.numbers import number
from chatapp.services.errors import Refused
from chatapp.services.locks import lock, refuse_while_running

# Of the window, in percent: the rest is for the system prompt, the work, and a summary of it.
MOST_PINNED = 25


def pin_message(*, conversation: Conversation, seq: int) -> None:
    """Have the model keep a message word for word; nothing happens where it does already.

    Refused while something runs, where the model does not see the message, and where it takes too
    much of the window.
    """
    with lock(conversation) as own:
        message = _find(own, seq)
        if message.pinned:
            return
        refuse_while_running(own)
        _refuse_if_too_large(own, message)
        mark(message)
        store.note_record(own.pk)


def unpin_message(*, conversation: Conversation, seq: int) -> None:
    """Take a pin off: what is condensed from now on need not carry the message any more."""
    with lock(conversation, keeps_pins=False) as own:
        message = _find(own, seq)
        if not message.pinned:
            return
        refuse_while_running(own)
        Message.objects.filter(pk=message.pk).update(pinned=None)
        Pin.objects.filter(message=message).change(unpinned_at=timezone.now())
        store.note_record(own.pk)


def mark(message: Message) -> None:
    """Pin a message, with an entry in the conversation's chain."""
    Message.objects.filter(pk=message.pk).update(pinned=True)
    columns = {"digest": digest_of(message), "tokens": message.tokens}
    known = Pin.objects.filter(message=message)
    if not known.change(pinned_at=timezone.now(), unpinned_at=None, **columns):
        Pin.objects.create(
            conversation_id=message.conversation_id, message=message, seq=message.seq, **columns
        ).enter()


def _find(conversation: Conversation, seq: int) -> Message:
    present = conversation.messages.written().filter(rewind_parent=None)
    message = present.filter(seq=seq).first()
    if message is None:
        raise Refused(_("This message is no part of the conversation any more. Reload the page."))
    return message


def _refuse_if_too_large(conversation: Conversation, message: Message) -> None:
    profile = conversation.profile
    if profile is None:
        return
    before = Pin.objects.in_force(conversation.pk).aggregate(sum=Sum("tokens", default=0))["sum"]
    window = profile.context_window
    if 100 * (before + message.tokens) <= MOST_PINNED * window:
        return
    raise Refused(
        _(
            "This message takes about %(tokens)s tokens, and what is pinned already %(before)s. "
            "Pins may take %(most)s, which is %(percent)s %% of the window of %(window)s."
        )
        % {
            "tokens": number(message.tokens),
            "before": number(before),
            "most": number(MOST_PINNED * window // 100),
            "percent": MOST_PINNED,
            "window": number(window),
        }
    )
