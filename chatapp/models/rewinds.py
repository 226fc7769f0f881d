"""Rewinds: parts of a conversation that the user set aside, and can restore."""

import uuid
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chatapp.models.audit import AuditEntry, Recorded, RecordedQuerySet
from chatapp.models.conversations import Conversation
from chatapp.models.messages import Message


class Hiding(models.Model):
    """The numbers of hidden messages and results, as ``MessageQuerySet.count_seen`` counts."""

    messages_hidden = models.PositiveIntegerField(default=0)
    results_hidden = models.PositiveIntegerField(default=0)
    condensations_hidden = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True


class RewindQuerySet(RecordedQuerySet["Rewind"]):
    """Rewinds that can be undone."""

    def undoable(self) -> Self:
        """Return the rewind that can be undone: in force, and nothing new was said since."""
        return self.with_undoable().filter(is_undoable=True)

    def with_undoable(self) -> Self:
        """Add ``is_undoable``: True for the rewind that ``undoable`` returns."""
        later = Message.objects.filter(
            conversation=OuterRef("conversation"), seq__gt=OuterRef("last_seq")
        )
        in_force = Q(root_seq=None, undone_at=None, rewind_parent=None)
        return self.annotate(is_undoable=Q(in_force & ~Exists(later.said())))


class Rewind(Recorded, Hiding):
    """The user went back to before message ``to_seq``, or set a version aside.

    Going to another version is a rewind of the one that is shown, which ``brings_back`` an older
    rewind's messages.
    """

    KIND = AuditEntry.Kind.REWIND
    FACTS = (
        "cause", "to_seq", "last_seq", "root_seq", "version", "files_before", "brings_back_id",
        "messages_hidden", "results_hidden", "condensations_hidden", "created_at", "undone_at",
    )  # fmt: skip
    CHANGING = ("undone_at",)

    class Cause(models.TextChoices):
        """The cause of a rewind."""

        REWOUND = "rewound", _("rewound")
        RETRIED = "retried", _("tried again")
        EDITED = "edited", _("edited")
        REGENERATED = "regenerated", _("answered again")
        REPLACED = "replaced", _("replaced by its client")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="rewinds")
    cause = models.CharField(max_length=12, choices=Cause, default=Cause.REWOUND)
    to_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()  # newest message then
    root_seq = models.PositiveIntegerField(null=True)  # message that a place's versions stand for
    version = models.PositiveIntegerField(null=True)  # number of the one that was set aside
    files_before = models.CharField(max_length=64, blank=True)  # snapshot, if they were restored
    brings_back = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    rewind_parent = models.UUIDField(null=True)  # a later one that took it along
    created_at = models.DateTimeField(default=timezone.now)
    undone_at = models.DateTimeField(null=True)

    objects = RewindQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(fields=("conversation", "created_at"), name="rewind_recent"),)
