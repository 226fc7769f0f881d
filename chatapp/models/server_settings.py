"""Server settings: decisions of the operators for all users of this server."""

from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatapp.models.database import select

LIMITS = ("storage_megabytes", "turns_at_once", "requests_per_minute")

# The tool whose denial keeps MCP servers from being commands, too.
RUN_COMMAND = "run_command"


def _limit(
    label: Any, default: int, most: int, hint: Any
) -> "models.PositiveIntegerField[Any, Any]":
    """Return a column for a limit of each member, from 1 on; None is no limit."""
    checks = [MinValueValidator(1), MaxValueValidator(most)]
    return models.PositiveIntegerField(
        label, default=default, validators=checks, null=True, blank=True, help_text=hint
    )


class ServerSettings(models.Model):
    """The operators' decisions for all users: one row, stored at the first change.

    Members use none of the ``denied_tools``, by name. New users begin with the preferences of the
    operator that ``begin_with`` names.
    """

    storage_megabytes = _limit(
        _("storage (MB)"),
        10_000,
        1_000_000_000,
        _("Attachments, workspaces, their versions and outputs."),
    )
    turns_at_once = _limit(_("turns at once"), 100, 10_000, _("Further messages wait their turn."))
    requests_per_minute = _limit(
        _("requests per minute"), 6_000, 1_000_000, _("Pages, the API and messages together.")
    )

    denied_tools = models.JSONField(default=list, editable=False)
    servers_allowed = models.BooleanField(
        _("members may add MCP servers"),
        default=True,
        help_text=_("Off: those that they have are not used either."),
    )
    begin_with = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        limit_choices_to={"is_superuser": True},
        verbose_name=_("new users begin with"),
    )

    class Meta:
        verbose_name_plural = "server settings"

    @classmethod
    def read(cls) -> Self:
        """Return the settings as they are stored now, or as they are by default."""
        found = select(cls, "SELECT * FROM chatapp_serversettings WHERE id = 1")
        return found[0] if found else cls(pk=1)

    @staticmethod
    def binds(user: User) -> bool:
        """Return True if the settings bind a user; operators are not bound."""
        return not user.is_superuser

    @classmethod
    def binding(cls, user: User) -> "ServerSettings":
        """Return the settings that bind a user now; for operators they have no limits."""
        return cls.read() if cls.binds(user) else _OF_OPERATORS

    @property
    def commands_allowed(self) -> bool:
        """True if members may run commands, as far as the server runs any."""
        return RUN_COMMAND not in self.denied_tools


# Made once: each message asks for them several times.
_OF_OPERATORS = ServerSettings(**dict.fromkeys(LIMITS))
