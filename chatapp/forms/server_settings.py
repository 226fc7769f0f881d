"""What the operators decide for everybody who uses this server."""

from typing import Any, ClassVar, cast

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from chatapp.accounts import server_profiles
from chatapp.forms import ModelForm
from chatapp.models import ServerSettings

LIMITS = ("storage_megabytes", "turns_at_once", "requests_per_minute")


class ServerSettingsForm(ModelForm[ServerSettings]):
    """The limits of each user, of which an empty field sets none; and what everybody is given."""

    profiles = forms.MultipleChoiceField(
        label=_("Shared profiles"), required=False, widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = ServerSettings
        fields: ClassVar[tuple[str, ...]] = LIMITS

    def __init__(self, *args: Any, operator: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.shareable = [*server_profiles.shareable(operator)]
        profiles = cast(forms.MultipleChoiceField, self.fields["profiles"])
        profiles.choices = [
            (str(one.pk), f"{one.name} · {one.model} · {one.owner}") for one in self.shareable
        ]
        self.initial["profiles"] = [str(one.pk) for one in self.shareable if one.is_shared]

    def limits(self) -> list[forms.BoundField]:
        """Return the fields that hold limits, for the template."""
        return [self[name] for name in LIMITS]

    @transaction.atomic
    def save(self, commit: bool = True) -> ServerSettings:
        """Store all of it, and share those profiles and no others."""
        chosen = {*self.cleaned_data["profiles"]}
        for profile in self.shareable:
            if profile.is_shared and str(profile.pk) not in chosen:
                server_profiles.stop_sharing(profile)
            elif str(profile.pk) in chosen and not profile.is_shared:
                server_profiles.share(profile)
        return super().save(commit)
