"""Conversations: their owners, their places in the list, and the settings that they hold."""

import uuid
from copy import copy
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chatapp.models import fields
from chatapp.models.profiles import Profile

if TYPE_CHECKING:
    from chatapp.models.preferences import Preferences

LONGEST_TITLE = 200


class FolderQuerySet(models.QuerySet["Folder"]):
    """Folders by whose they are."""

    def owned_by(self, user: User) -> Self:
        """Return a user's folders, by their names."""
        return self.filter(owner=user).order_by(Lower("name"), "pk")


class Folder(models.Model):
    """A name under which conversations are found together; to remove it removes none of them."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="folders")
    name = fields.CharField(_("name"), max_length=60)
    created_at = models.DateTimeField(default=timezone.now)

    objects = FolderQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint("owner", Lower("name"), name="folder_name_per_owner"),
        )

    def __str__(self) -> str:
        return str(self.name)


class ConversationQuerySet(models.QuerySet["Conversation"]):
    """Conversations by owner, and by place in the list."""

    def owned_by(self, user: User) -> Self:
        """Return conversations that ``user`` owns, deleted ones included."""
        return self.filter(owner=user)

    def present(self) -> Self:
        """Return conversations that were not deleted, the latest first."""
        return self.filter(deleted_at=None).order_by("-updated_at", "-pk")

    def loose(self) -> Self:
        """Return conversations outside of folders and archive that are not pinned."""
        return self.filter(archived_at=None, pinned_at=None, folder=None)

    def pinned(self) -> Self:
        """Return pinned conversations outside of the archive."""
        return self.filter(archived_at=None, pinned_at__isnull=False)

    def archived(self) -> Self:
        """Return archived conversations."""
        return self.filter(archived_at__isnull=False)

    def with_waiting(self) -> Self:
        """Add its client, and ``waits``: True if a turn waits for a person."""
        turns = apps.get_model("chatapp", "Turn").objects.filter(conversation=OuterRef("pk"))
        return self.select_related("client").annotate(
            waits=Exists(turns.filter(status="waiting", finished_at=None))
        )


class Conversation(models.Model):
    """One chat: its messages, the profile that answers, and the folder its tools may read."""

    preferences: "Preferences | None" = None  # of the owner, if stored, of one that was read whole
    # The next are set where it is locked for a turn, and one where a page looked at it.
    has_hidden: bool  # a summary or marker in force hides messages
    is_clients: bool  # another program writes it
    is_known: bool  # the turn is known already
    runs: str | None  # origin of the turn that runs
    has_queued: bool  # this message is queued, or another one is about to be sent
    has_todo: bool = True  # there are to-do lists
    is_closing: bool  # its owner's account is closing
    others: int | None = None  # turns of its owner that run elsewhere
    has_meanings: bool = True  # for a page: vectors of its messages are stored
    next_message: int | None  # its key, if that is known before
    moment: datetime | None  # by the database's clock, if that is shared

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="conversations"
    )
    title = fields.CharField(_("title"), max_length=LONGEST_TITLE, blank=True)
    profile = models.ForeignKey(Profile, models.SET_NULL, null=True, related_name="+")
    folder = models.ForeignKey(Folder, models.SET_NULL, null=True, related_name="conversations")
    pinned_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)
    workspace = models.CharField(max_length=400, blank=True)  # "" for its own
    last_seq = models.PositiveIntegerField(default=0)
    revision = models.PositiveIntegerField(default=0)  # counts changes that pages must fetch again
    tool_policies = models.JSONField(default=dict)  # by name, else the profile's
    system_prompt = fields.TextField(_("system prompt"), blank=True)  # "" for the profile's
    budget = fields.spending_limit(_("budget"))  # USD for all its calls
    auto_recall = models.BooleanField(_("recall automatically"), null=True)  # None as its owner's
    # Both are None while no report of the provider fits the effective history.
    measured_tokens = models.PositiveIntegerField(null=True)  # context's size, as last reported
    measured_seq = models.PositiveIntegerField(null=True)  # newest message in that
    named_window = models.PositiveIntegerField(null=True)  # the model's in tokens, by its provider
    put_off = models.BooleanField(default=False)  # none begins by itself for one turn
    audit_number = models.PositiveIntegerField(default=0)  # newest entry of its chain, as the next
    audit_hash = models.CharField(max_length=64, blank=True)
    audit_seq = models.PositiveIntegerField(default=0)  # newest message in its chain
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True)

    objects = ConversationQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(fields=("owner", "-updated_at"), name="conversation_recent"),
            models.Index("owner", Lower("title"), name="conversation_title"),
            models.Index(
                fields=("owner", "folder", "-updated_at"),
                condition=Q(archived_at=None, pinned_at=None),
                name="conversation_shelf",
            ),
            # A search leaves these few out.
            models.Index(
                fields=("owner",),
                condition=Q(deleted_at__isnull=False),
                name="conversation_deleted",
            ),
        )

    def __str__(self) -> str:
        return self.title or str(_("New conversation"))

    @cached_property
    def writer(self) -> Any:
        """The client that writes it through the gateway, None if people write it here."""
        return (
            apps.get_model("chatapp", "ClientConversation")
            .objects.open()
            .filter(pk=self.pk)
            .first()
        )

    @property
    def answering(self) -> Profile | None:
        """The profile that answers, with the smaller window that its provider named, if any."""
        profile = self.profile
        if profile and self.named_window and self.named_window < profile.context_window:
            profile = copy(profile)
            profile.context_window = self.named_window
        return profile
