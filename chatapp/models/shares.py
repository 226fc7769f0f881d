"""Links with which anybody can read a conversation."""

import hashlib
import secrets
from typing import Self

from django.db import models
from django.utils import timezone

from chatapp.models.conversations import Conversation


class ShareQuerySet(models.QuerySet["Share"]):
    """Links by what they open."""

    def opened_by(self, token: str) -> Self:
        """Return the one of a token, unless its conversation or its owner is gone."""
        there = self.filter(conversation__deleted_at=None, conversation__owner__is_active=True)
        return there.filter(digest=Share.digest_of(token))


class Share(models.Model):
    """A link to read a conversation up to message ``until``; only its token's hash is stored.

    It shows what ``tools`` were given and answered, where its owner wants that.
    """

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="share"
    )
    digest = models.CharField(max_length=64, unique=True)
    until = models.PositiveIntegerField()
    tools = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ShareQuerySet.as_manager()

    def __str__(self) -> str:
        """Name the link by its conversation; the token itself is not known."""
        return f"Link to {self.conversation_id}"

    @staticmethod
    def generate() -> str:
        """Return a fresh token for an address."""
        return secrets.token_urlsafe(32)

    @staticmethod
    def digest_of(token: str) -> str:
        """Return the hash under which ``token`` is stored."""
        return hashlib.sha256(token.encode(errors="replace")).hexdigest()
