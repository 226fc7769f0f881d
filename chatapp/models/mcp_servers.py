"""MCP servers: programs of others, whose tools a user's conversations have."""

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from chatapp.models import fields
from chatapp.tools.mcp.servers import Definition, Server, Way


def way_choices() -> list[tuple[str, Any]]:
    """Return the ways to reach a server, in words."""
    return [(Way.HTTP.value, _("an address")), (Way.COMMAND.value, _("a command"))]


class McpServer(models.Model):
    """A server of one user: a URL or a command, and the tools that it listed last.

    ``switched_off`` has the names of tools that the model does not see, and ``unseen`` those that
    changed since their owner looked at them: these are never called without a person's permission.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mcp_servers")
    name = models.CharField(_("name"), max_length=20)
    way = models.CharField(
        _("reached by"), max_length=10, choices=way_choices, default=Way.HTTP.value
    )
    address = fields.CharField(_("address or command"), max_length=1_000)
    encrypted_secrets = fields.EncryptedField()
    is_on = models.BooleanField(_("in use"), default=True)
    tools = fields.JSONField(default=list, editable=False)
    switched_off = fields.JSONField(default=list, editable=False)
    unseen = fields.JSONField(default=list, editable=False)
    listed_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("owner", "name"), name="mcp_server_name_per_owner"),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def definitions(self) -> list[Definition]:
        """All tools that it listed last."""
        return [Definition(**stored) for stored in self.tools]

    @property
    def offered(self) -> list[Definition]:
        """The tools that the model may see."""
        return [one for one in self.definitions if one.tool not in self.switched_off]

    @property
    def has_secrets(self) -> bool:
        """True if headers or variables are stored; they themselves are never shown."""
        return bool(self.encrypted_secrets)

    def set_secrets(self, lines: str) -> None:
        """Encrypt and keep headers or variables, "NAME=value" each line; none removes them."""
        self.encrypted_secrets = fields.encrypt(lines) if lines else ""

    def reached(self) -> Server:
        """Return the server with its secrets, for a call; raise DecryptionFailed."""
        stored = fields.decrypt(self.encrypted_secrets) if self.encrypted_secrets else ""
        pairs = (line.partition("=") for line in stored.splitlines())
        secrets = tuple((name, value) for name, _sign, value in pairs)
        return replace(self.described(), secrets=secrets)

    def described(self) -> Server:
        """Return the server without its secrets, for descriptions."""
        return Server(self.pk or 0, self.name, Way(self.way), self.address)
