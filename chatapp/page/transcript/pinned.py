"""Pins of a conversation, one line each."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.text import Truncator

import condense
from chatapp.models import Conversation, Pin, message_store
from chatapp.page.transcript.message_parts import PinnedPart, attached_part
from chatapp.project.sentences import translate as _

# Characters of a pin that are shown.
SHOWN = 300


@dataclass(frozen=True, slots=True)
class PinLine:
    """A pin on message ``seq``, with the beginning of its text."""

    seq: int
    label: str
    text: str
    tokens: int


def pin_lines(conversation: Conversation) -> Sequence[PinLine]:
    """Return the pins in force, the oldest first."""
    pins = Pin.objects.in_force(conversation.pk).select_related("message").order_by("seq")
    return [_line(pin, message_store.to_engine(pin.message)) for pin in pins]


def _line(pin: Pin, message: condense.Message) -> PinLine:
    parts = (attached_part(index, block) for index, block in enumerate(message.blocks))
    alone = next((part for part in parts if isinstance(part, PinnedPart)), None)
    if alone is None:
        label = _("You") if message.role == "user" else _("Agent")
    elif alone.claimed:
        label = _("Rule of the imported file")
    else:
        label = _("Passage") if alone.seq else _("Your rule")
    text = alone.text if alone else message.words or condense.tools_to_text(message).text
    return PinLine(pin.seq, label, Truncator(text).chars(SHOWN), pin.tokens)
