"""Drafts of condensations: begun in the background, before they are needed."""

from django.db import models

from chatapp.models import fields
from chatapp.models.condensations import Condensation
from chatapp.models.conversations import Conversation


class BackgroundDraft(fields.Speaking):
    """The draft of a conversation, from when one is wanted until it is applied or dropped."""

    SAID = frozenset({"proposal"})

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, related_name="background_draft"
    )
    condensation = models.OneToOneField(
        Condensation, models.CASCADE, null=True, related_name="background_draft"
    )  # its record, None before it is begun
    owner = models.CharField(max_length=120)  # the process that writes it
    basis = fields.JSONField(default=dict)  # digests of its inputs
    seen = models.CharField(max_length=64, blank=True)  # digest of messages at the beginning
    count = models.PositiveIntegerField(default=0)  # first effective messages in that digest
    proposal = fields.JSONField(default=dict)  # all that another process needs to apply it
    written_at = models.DateTimeField(null=True)
