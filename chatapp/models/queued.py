"""Messages that were sent while a turn ran, and wait for its end."""

import uuid
from typing import Self

from django.db import models
from django.utils import timezone

from chatapp.models import fields
from chatapp.models.conversations import Conversation


class QueuedMessageQuerySet(models.QuerySet["QueuedMessage"]):
    """Queued messages by whether they still wait."""

    def waiting(self) -> Self:
        """Return those that were neither sent nor removed, in the order of their sending."""
        return self.filter(gone_at=None).order_by("pk")


class QueuedMessage(models.Model):
    """A message that waits for what runs; its turn will have the same ``nonce``.

    ``attachments`` are the ids of what goes with it. What was sent or removed stays known, by its
    nonce and without its text.
    """

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="queued")
    nonce = models.UUIDField(default=uuid.uuid4)
    text = fields.TextField(blank=True)
    attachments = models.JSONField(default=list)
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
        )

    def __str__(self) -> str:
        """Say where it waits."""
        return f"Message queued in {self.conversation}"
