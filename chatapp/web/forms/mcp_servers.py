"""MCP servers: address or command, secrets, and the tools to offer."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from chatapp.models import McpServer, ServerSettings
from chatapp.models.mcp_servers import way_choices
from chatapp.tools.mcp.servers import Way
from chatapp.web.forms import ModelForm, SecretLines, check_address

MAX_SECRETS = 10_000

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_VALUE = re.compile(r"[\x20-\x7e]+")
# They are the connection's own.
_NOT_ONES_OWN = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade"})


class McpServerForm(ModelForm[McpServer]):
    """A server; its secrets can be set and removed, and are never shown."""

    secrets = forms.CharField(
        label=_("Headers or variables"),
        required=False,
        max_length=MAX_SECRETS,
        widget=SecretLines(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text=_("One per line, e.g. Authorization: Bearer … (URL) or API_KEY=… (command)"),
    )
    remove_secrets = forms.BooleanField(label=_("Remove what is stored"), required=False)
    tools = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = McpServer
        fields = ("name", "way", "address", "is_on")
        labels: ClassVar[dict[str, Any]] = {"is_on": _("In use")}
        help_texts: ClassVar[dict[str, Any]] = {
            "name": _("Small letters, digits and hyphens. Its tools' names begin with it.")
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["secrets"].widget.owner = self.instance.owner_id
        self.was = (self.instance.way, self.instance.address) if self.instance.pk else None
        binding = ServerSettings.binding(self.instance.owner)
        self.takes_commands = settings.ALLOW_COMMANDS and binding.commands_allowed
        way = cast(forms.ChoiceField, self.fields["way"])
        way.choices = [
            (value, label)
            for value, label in way_choices()
            if value == Way.HTTP or self.takes_commands or self.instance.way == value
        ]
        tools = cast(forms.MultipleChoiceField, self.fields["tools"])
        tools.choices = [(one.name, one.tool) for one in self.instance.definitions]
        self.initial["tools"] = [one.name for one in self.instance.offered]
        self.initial["seen"] = self._listed()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the tools with their boxes, for the template."""
        definitions = {one.name: one for one in self.instance.definitions}
        for box in self["tools"]:
            definition = definitions[str(box.data["value"])]
            changed = definition.tool in self.instance.unseen
            yield {"box": box.tag(), "definition": definition, "changed": changed}

    def _listed(self) -> str:
        at = self.instance.listed_at
        return at.isoformat() if at else ""

    def clean_name(self) -> str:
        """Refuse a name that does not fit in a tool's name, or that another server has."""
        name: str = self.cleaned_data["name"]
        if not _NAME.fullmatch(name):
            raise forms.ValidationError(_("Use small letters, digits and hyphens."))
        same = McpServer.objects.filter(owner=self.instance.owner, name=name)
        if same.exclude(pk=self.instance.pk).exists():
            raise forms.ValidationError(_("You have another server of this name."))
        return name

    def clean_address(self) -> str:
        """Refuse an address that may not be called, and a command if none may run."""
        address: str = self.cleaned_data["address"]
        if self.cleaned_data.get("way") != Way.COMMAND:
            check_address(address)
        elif not self.takes_commands:
            raise forms.ValidationError(_("The operator of this server does not allow commands."))
        return address

    def clean_secrets(self) -> str:
        """Return headers or variables as lines; refuse a line that is neither."""
        is_command = self.cleaned_data.get("way") == Way.COMMAND
        sign, names = ("=", _VARIABLE) if is_command else (":", _HEADER)
        lines = []
        for number, line in enumerate(self.cleaned_data["secrets"].splitlines(), start=1):
            if not line.strip():
                continue
            name, found, value = (part.strip() for part in line.partition(sign))
            # The line holds a secret, so that only its number is shown.
            if not found or not names.fullmatch(name) or not _VALUE.fullmatch(value):
                text = _("Line %(number)s can't be read.") % {"number": number}
                raise forms.ValidationError(text)
            if not is_command and name.lower() in _NOT_ONES_OWN:
                text = _("The header %(name)s can't be set.") % {"name": name}
                raise forms.ValidationError(text)
            lines.append(f"{name}={value}")
        return "\n".join(lines)

    def columns(self) -> list[str]:
        """Set the server's secrets and tools, and return the names of the columns to save."""
        server, given = self.instance, self.cleaned_data
        columns = ["name", "is_on", "switched_off"]
        moved = self.was is None or self.was != (server.way, server.address)
        if moved:
            columns += ["way", "address"]
        other_kind = self.was is not None and self.was[0] != server.way
        if given["secrets"] or given["remove_secrets"] or other_kind:
            server.set_secrets(given["secrets"])
            columns.append("encrypted_secrets")
        chosen = set(given["tools"])
        server.switched_off = [one.tool for one in server.definitions if one.name not in chosen]
        if server.pk and given["seen"] == self._listed():
            server.unseen = []
            columns.append("unseen")
        return columns
