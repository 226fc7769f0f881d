"""What the operators decide for everybody who uses this server."""

from typing import Any, Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


def _limit(
    label: Any, default: int, most: int, hint: Any
) -> "models.PositiveIntegerField[Any, Any]":
    """Return a column for a limit of each user, from 1 on; None is no limit."""
    checks = [MinValueValidator(1), MaxValueValidator(most)]
    return models.PositiveIntegerField(
        label, default=default, validators=checks, null=True, blank=True, help_text=hint
    )


class ServerSettings(models.Model):
    """What the operators decide for everybody: one row, stored once something was changed."""

    storage_megabytes = _limit(
        _("storage (MB)"),
        10_000,
        1_000_000_000,
        _("Attachments, workspaces, their versions and outputs."),
    )
    turns_at_once = _limit(
        _("turns at once"), 10, 10_000, _("A message beyond that waits for one to end.")
    )
    requests_per_minute = _limit(
        _("requests per minute"), 1_200, 1_000_000, _("Pages, the API and messages together.")
    )

    class Meta:
        verbose_name_plural = "server settings"

    def __str__(self) -> str:
        return "Settings of the server"

    @classmethod
    def read(cls) -> Self:
        """Return the settings as they are stored now, or as they are by default."""
        return cls.objects.filter(pk=1).first() or cls(pk=1)
