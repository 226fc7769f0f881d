"""Messages that are not sent yet: files that are attached to one, and messages in the queue."""

import uuid
from typing import Self

from django.conf import settings
from django.db import models
from django.utils import timezone

import condense
from chatapp.models import fields
from chatapp.models.conversations import Conversation


class Attachment(models.Model):
    """A file that goes with a message of its owner's: the ``block`` it becomes, of so many tokens.

    It had ``size`` bytes. Once that is sent it is part of the message, and its row is gone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="attachments")
    block = fields.JSONField()
    tokens = models.PositiveIntegerField()
    size = models.PositiveBigIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return str(self.facts.get("name", ""))

    @property
    def facts(self) -> condense.Json:
        """The block's facts: its kind, its name, its size."""
        return condense.beside_of(self.engine)

    @property
    def engine(self) -> condense.Block:
        """The block as the engine has it."""
        return condense.block_from_api(self.block)


class AttachmentTotal(models.Model):
    """The bytes of all files that a user has sent with messages."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    size = models.PositiveBigIntegerField(default=0)


class QueuedMessageQuerySet(models.QuerySet["QueuedMessage"]):
    """Queued messages by state."""

    def waiting(self) -> Self:
        """Return those that were neither sent nor removed, in the order of their sending."""
        return self.filter(gone_at=None).order_by("pk")


class QueuedMessage(models.Model):
    """A message that waits for the running turn; its own turn will have the same ``nonce``.

    ``attachments`` are the ids of its files, and ``zone`` is its sender's time zone. One that
    ``is_next`` is sent first, and after a turn that failed, too. Sent and removed messages stay
    known, by their nonces and without their texts.
    """

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="queued")
    nonce = models.UUIDField(default=uuid.uuid4)
    text = fields.TextField(blank=True)
    attachments = models.JSONField(default=list)
    zone = models.CharField(max_length=64, blank=True, default="", db_default="")
    is_next = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(default=timezone.now)
    gone_at = models.DateTimeField(null=True)

    objects = QueuedMessageQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("conversation", "nonce"), name="queued_nonce"),
        )
        indexes = (
            models.Index(
                fields=("conversation",), condition=models.Q(gone_at=None), name="queued_waiting"
            ),
            models.Index(
                fields=("conversation",),
                condition=models.Q(gone_at=None, is_next=True),
                name="queued_next",
            ),
        )


def list_queued(conversation: uuid.UUID) -> list[QueuedMessage]:
    """Return the messages that wait in a conversation, the next one first."""
    return [*QueuedMessage.objects.filter(conversation=conversation).waiting()]
