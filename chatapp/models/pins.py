"""Pins: messages that the model keeps word for word through every condensation."""

import uuid
from typing import Self

from django.db import models
from django.utils import timezone

from chatapp.models import fields
from chatapp.models.audit import AuditEntry, Recorded, RecordedQuerySet, hashed, said, written
from chatapp.models.conversations import Conversation
from chatapp.models.messages import Message


class PinQuerySet(RecordedQuerySet["Pin"]):
    """Pins by state."""

    def in_force(self, conversation_id: uuid.UUID) -> Self:
        """Return the pins of a conversation that nobody took off, on messages still part of it."""
        return self.filter(
            conversation=conversation_id, unpinned_at=None, message__rewind_parent=None
        )


class Pin(Recorded):
    """A pin on message ``seq``, put on and taken off; a message has one at most.

    ``digest`` is the hash of the message when it was pinned: as much as its text, it is something
    that can be erased. ``Message.pinned`` is the same for the engine.
    """

    KIND = AuditEntry.Kind.PIN
    FACTS = ("seq", "tokens", "pinned_at", "unpinned_at")
    CONTENTS = ("digest",)
    CHANGING = ("pinned_at", "unpinned_at")

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="pins")
    message = models.OneToOneField(Message, models.CASCADE, related_name="pin")
    seq = models.PositiveIntegerField()
    tokens = models.PositiveIntegerField()
    digest = fields.CharField(max_length=64, blank=True)
    pinned_at = models.DateTimeField(default=timezone.now)
    unpinned_at = models.DateTimeField(null=True)

    objects = PinQuerySet.as_manager()

    @property
    def holds(self) -> bool:
        """True if the message is byte for byte as it was when it was pinned."""
        return bool(self.digest == digest_of(self.message))


def digest_of(message: Message) -> str:
    """Return the hash of all that a message says."""
    return hashed(written(said(message.role, message.content)))
