"""Folders that people put conversations in."""

from typing import Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chatapp.models import fields


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
        """Name the folder."""
        return str(self.name)
