"""Deletions of accounts: those due after a while, and those carried out."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models


class Deletion(models.Model):
    """An account that is deleted from ``due_at`` on, and was so at ``done_at``.

    The user's row stays without a word, as the owner of audit chains.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="deletion"
    )
    due_at = models.DateTimeField(db_index=True)
    done_at = models.DateTimeField(null=True)


def people() -> "models.QuerySet[User]":
    """Return the users whose accounts were not deleted."""
    return User.objects.filter(deletion__done_at=None)
