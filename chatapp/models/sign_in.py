"""Sign-in links: each signs its user in once."""

import hashlib
import secrets
from typing import Self

from django.conf import settings
from django.db import models
from django.utils import timezone


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
