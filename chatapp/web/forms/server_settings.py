"""The settings of the operators for all users of this server."""

from typing import Any, cast

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from chatapp.agent.ports import Access
from chatapp.models import ServerSettings, accounts
from chatapp.models.server_settings import LIMITS
from chatapp.tools import TOOL_SPECS
from chatapp.web.forms import ModelForm
from chatapp.web.forms.conversations import ACCESS


def deniable() -> list[str]:
    """Return the tools that operators may keep from members: those that do more than read."""
    return [one.name for one in TOOL_SPECS.values() if one.access is not Access.READ]


class ServerSettingsForm(ModelForm[ServerSettings]):
    """The limits of each user, with no limit for an empty field, and the shared profiles."""

    profiles = forms.MultipleChoiceField(
        label=_("Shared profiles"), required=False, widget=forms.CheckboxSelectMultiple
    )

    tools = forms.MultipleChoiceField(
        label=_("Tools that members may use"), required=False, widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = ServerSettings
        fields = (*LIMITS, "servers_allowed", "begin_with")

    def __init__(self, *args: Any, operator: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.shareable = [*accounts.shareable(operator)]
        profiles = cast(forms.MultipleChoiceField, self.fields["profiles"])
        profiles.choices = [
            (str(one.pk), f"{one.name} · {one.model} · {one.owner}") for one in self.shareable
        ]
        begin_with = cast("forms.ModelChoiceField[User]", self.fields["begin_with"])
        operators = User.objects.filter(is_superuser=True).order_by("username")
        named = [(one.pk, _("The settings of %s") % one) for one in operators]
        begin_with.choices = [("", _("The built-in settings")), *named]
        tools = cast(forms.MultipleChoiceField, self.fields["tools"])
        tools.choices = [
            (name, f"{name} · {ACCESS[TOOL_SPECS[name].access]}") for name in deniable()
        ]
        self.initial["tools"] = [*{*deniable()} - {*self.instance.denied_tools}]
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
                accounts.stop_sharing(profile)
            elif str(profile.pk) in chosen and not profile.is_shared:
                accounts.share(profile)
        allowed = self.cleaned_data["tools"]
        self.instance.denied_tools = [one for one in deniable() if one not in allowed]
        return super().save(commit)
