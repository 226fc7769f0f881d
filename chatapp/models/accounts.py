"""Sign-in links: each signs its user in once."""

import hashlib
import secrets
from typing import Self

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chatapp.models import fields


class SignInTokenQuerySet(models.QuerySet["SignInToken"]):
    """Tokens by what may be done with them."""

    def usable(self) -> Self:
        """Return tokens that were not used and have not expired, of users who may sign in."""
        return self.filter(used_at=None, expires_at__gt=timezone.now(), user__is_active=True)


class SignInToken(models.Model):
    """A link that signs its user in once; only the token's hash is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    objects = SignInTokenQuerySet.as_manager()

    def __str__(self) -> str:
        """Name the user; the token itself is not known."""
        return f"Sign-in link for {self.user}"

    @staticmethod
    def generate() -> str:
        """Return a fresh token for a URL."""
        return secrets.token_urlsafe(32)

    @staticmethod
    def digest_of(token: str) -> str:
        """Return the hash under which ``token`` is stored."""
        return hashlib.sha256(token.encode()).hexdigest()


# By this a token is recognised where it was left by mistake.
PREFIX = "palimpsest_"


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Tokens by what they open."""

    def opened_by(self, token: str) -> Self:
        """Return the row of a token, unless its owner may not sign in any more."""
        return self.filter(digest=ApiToken.digest_of(token), owner__is_active=True)


class ApiToken(models.Model):
    """What a program says to be let in; only the token's hash is stored.

    Each ``scope`` holds those before it.
    """

    class Scope(models.TextChoices):
        """What may be done with it."""

        READ = "read", _("read")
        WRITE = "write", _("read and write")
        ALL = "all", _("read, write and change settings")

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = fields.CharField(_("name"), max_length=60)
    scope = models.CharField(_("scope"), max_length=5, choices=Scope, default=Scope.READ)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    used_at = models.DateTimeField(null=True, editable=False)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        """Name the token; it itself is not known."""
        return str(self.name)

    @staticmethod
    def generate() -> str:
        """Return a fresh token."""
        return PREFIX + secrets.token_urlsafe(32)

    @staticmethod
    def digest_of(token: str) -> str:
        """Return the hash under which ``token`` is stored."""
        return hashlib.sha256(token.encode()).hexdigest()
