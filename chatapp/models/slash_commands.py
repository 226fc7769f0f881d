"""Commands that people keep for all their conversations."""

from django.conf import settings
from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatapp.command_syntax import LONGEST_TEXT, NAME
from chatapp.models import fields


class SavedCommand(models.Model):
    """A text under a name that its owner can type after a slash, with a head as in a file."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_commands"
    )
    name = models.CharField(
        _("name"),
        max_length=40,
        validators=[
            RegexValidator(
                rf"\A{NAME.pattern}\Z",
                _("A name has small letters, digits, hyphens and underscores, and at most 40."),
            )
        ],
    )
    text = fields.TextField(_("text"), validators=[MaxLengthValidator(LONGEST_TEXT)])

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("owner", "name"), name="command_name_per_owner"),
        )

    def __str__(self) -> str:
        """Name the command as it is typed."""
        return f"/{self.name}"
