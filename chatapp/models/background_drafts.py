"""Background drafts: summaries that are written before they are needed, and wait to be applied."""

from typing import Self

from django.db import models
from django.utils import timezone

import condense
from chatapp.models import fields
from chatapp.models.condensations import Condensation
from chatapp.models.conversations import Conversation


class BackgroundDraftQuerySet(models.QuerySet["BackgroundDraft"]):
    """Drafts by how far they are."""

    def written(self) -> Self:
        """Return drafts that can be applied."""
        return self.exclude(written_at=None)

    def unwritten(self) -> Self:
        """Return drafts that are being written, or are to be."""
        return self.filter(written_at=None)


class BackgroundDraft(models.Model):
    """The draft of a conversation, from when one is wanted until it is applied or dropped.

    Its record is the ``condensation``; there is none before it is begun. ``basis`` has digests of
    what it is made by, and ``seen`` is the digest of the first ``count`` messages of what the model
    saw then. Until it is written, the process ``owner`` is at it, whose last sign of life is
    ``heartbeat_at``. The ``proposal`` is all that another process needs to apply it.
    """

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, related_name="background_draft"
    )
    condensation = models.OneToOneField(
        Condensation, models.CASCADE, null=True, related_name="background_draft"
    )
    owner = models.CharField(max_length=120)
    heartbeat_at = models.DateTimeField(default=timezone.now)
    basis = fields.JSONField(default=dict)
    seen = models.CharField(max_length=64, blank=True)
    count = models.PositiveIntegerField(default=0)
    proposal = fields.JSONField(default=dict)
    written_at = models.DateTimeField(null=True)

    objects = BackgroundDraftQuerySet.as_manager()

    def __str__(self) -> str:
        return f"Draft of {self.count} messages"

    def read_reduction(self) -> condense.Reduction:
        """Return what would be applied, as the engine knows it."""
        return condense.Proposal.from_json(self.proposal).reduction
