"""Drafts of condensations: begun in the background, before they are needed."""

from django.db import models

from chatapp.models import fields
from chatapp.models.condensations import Condensation
from chatapp.models.conversations import Conversation


class BackgroundDraft(fields.Speaking):
    """The draft of a conversation, from when one is wanted until it is applied or dropped.

    Its record is the ``condensation``; there is none before it is begun. ``basis`` has digests of
    its inputs, and ``seen`` is the digest of the first ``count`` messages of the effective history
    then. Until it is written, the process ``owner`` is at it. The ``proposal`` is all that another
    process needs to apply it.
    """

    SAID = frozenset({"proposal"})

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, related_name="background_draft"
    )
    condensation = models.OneToOneField(
        Condensation, models.CASCADE, null=True, related_name="background_draft"
    )
    owner = models.CharField(max_length=120)
    basis = fields.JSONField(default=dict)
    seen = models.CharField(max_length=64, blank=True)
    count = models.PositiveIntegerField(default=0)
    proposal = fields.JSONField(default=dict)
    written_at = models.DateTimeField(null=True)
