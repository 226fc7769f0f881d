"""What the operators decide for everybody who uses this server."""

from typing import ClassVar

from django import forms

from chatapp.forms import ModelForm
from chatapp.models import ServerSettings

LIMITS = ("storage_megabytes", "turns_at_once", "requests_per_minute")


class ServerSettingsForm(ModelForm[ServerSettings]):
    """The limits of each user; a field that is left empty sets none."""

    class Meta:
        model = ServerSettings
        fields: ClassVar[tuple[str, ...]] = LIMITS

    def limits(self) -> list[forms.BoundField]:
        """Return the fields that hold limits, for the template."""
        return [self[name] for name in LIMITS]
