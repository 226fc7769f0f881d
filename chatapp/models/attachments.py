"""What people have attached to a message that is not sent yet."""

import uuid
from collections.abc import Sequence
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

import condense
from chatapp.models import fields


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    """Attachments by whose they are, and how long they have waited."""

    def named(self, owner: User, pks: Sequence[uuid.UUID]) -> Self:
        """Return those of a user that have these ids."""
        return self.filter(owner=owner, pk__in=pks)


class Attachment(models.Model):
    """A file that goes with a message of its owner's: the ``block`` it becomes, of so many tokens.

    Once that is sent it is part of the message, and its row is gone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="attachments")
    block = fields.JSONField()
    tokens = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)

    objects = AttachmentQuerySet.as_manager()

    def __str__(self) -> str:
        """Name the file."""
        return str(self.facts.get("name", ""))

    @property
    def facts(self) -> condense.Json:
        """What the block says of itself: its kind, its name, its size."""
        return condense.beside_of(self.engine)

    @property
    def engine(self) -> condense.Block:
        """The block as the engine has it."""
        data: dict[str, Any] = self.block
        return condense.block_from_api(data)
