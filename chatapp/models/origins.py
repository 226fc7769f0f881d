"""Origins of conversations: forks, and files that were imported."""

from typing import Self

from django.contrib.auth.models import User
from django.db import models
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from chatapp.models import fields
from chatapp.models.audit import AuditEntry, Recorded, RecordedQuerySet
from chatapp.models.conversations import Conversation
from chatapp.models.import_runs import ImportRun


class ForkQuerySet(RecordedQuerySet["Fork"]):
    """Forks by the conversations that can be visited."""

    def present(self, user: User) -> Self:
        """Return forks whose other conversation exists and is the user's; with its ``title``."""
        others = Conversation.objects.owned_by(user).present().filter(pk=OuterRef("other"))
        titled = self.annotate(title=Subquery(others.values("title")))
        return titled.filter(title__isnull=False).order_by("created_at", "pk")


class Fork(Recorded):
    """One side of a fork, on record in its ``conversation``; the ``other`` one has its own.

    The side that ``is_copy`` began with all that was there when message ``seq`` was the newest.
    """

    KIND = AuditEntry.Kind.FORK
    FACTS = ("other", "is_copy", "seq", "created_at")

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="forks")
    # No foreign key: a record stays as it is, also when the other conversation is gone.
    other = models.UUIDField()
    is_copy = models.BooleanField()
    seq = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)

    objects = ForkQuerySet.as_manager()


class Source(fields.Speaking):
    """The file that a conversation was made from.

    ``importer`` is the process that stores it (see ``turns.this_process``), "" after that; until
    then the conversation counts as deleted.
    """

    SAID = frozenset({"problems"})

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="source"
    )
    form = models.CharField(max_length=40)  # its format
    name = fields.CharField(max_length=200, blank=True)
    digest = models.CharField(max_length=64, blank=True)  # SHA-256
    chains = fields.JSONField(default=list)  # audit chains that came with it, as evidence
    problems = fields.JSONField(default=list)  # sentences about unusable parts
    unused = models.PositiveIntegerField(default=0)  # number of unusable parts
    messages = models.PositiveIntegerField(null=True)  # in it, if they were counted
    importer = models.CharField(max_length=120, blank=True)
    run = models.ForeignKey(ImportRun, models.SET_NULL, null=True, related_name="sources")
    place = models.PositiveIntegerField(null=True)  # among those of its run
    imported_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name or self.form

    @property
    def left_out(self) -> int:
        """The number of problems that are not kept."""
        return max(0, self.unused - len(self.problems))
