"""Where a conversation came from that was imported."""

from django.db import models
from django.utils import timezone

from chatapp.models import fields
from chatapp.models.conversations import Conversation


class Source(models.Model):
    """The file that a conversation was made from: its ``form``, its name and its SHA-256.

    ``chains`` are the audit chains that came with it, kept as evidence: the conversation has one of
    its own since. ``problems`` say in sentences what could not be used, ``unused`` of how much.
    ``messages`` were in it, where that was counted. Until all of it is stored, ``importer`` is the
    process that does so (see ``owners``), and the conversation counts as deleted.
    """

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="source"
    )
    form = models.CharField(max_length=40)
    name = fields.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    chains = fields.JSONField(default=list)
    problems = fields.JSONField(default=list)
    unused = models.PositiveIntegerField(default=0)
    messages = models.PositiveIntegerField(null=True)
    importer = models.CharField(max_length=120, blank=True)
    imported_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        """Name the file."""
        return self.name or self.form

    @property
    def left_out(self) -> int:
        """How many problems there were beside those that are kept."""
        return max(0, self.unused - len(self.problems))
