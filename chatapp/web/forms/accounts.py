"""Accounts: passwords, sessions, keys and API tokens; saved prompts and slash commands."""

from typing import Any

from allauth.account.forms import (
    ChangePasswordForm,
    ResetPasswordForm,
    ResetPasswordKeyForm,
    SetPasswordForm,
)
from allauth.mfa.webauthn.forms import AddWebAuthnForm, EditWebAuthnForm
from allauth.usersessions.forms import ManageUserSessionsForm
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.translation import gettext_lazy as _lazy

from chatapp.accounts.adapters import NOBODY
from chatapp.accounts.credentials import owner_of
from chatapp.conversations.composer.slash_commands import RESERVED
from chatapp.models import ApiToken, CondensingPrompt, SavedCommand
from chatapp.project.sentences import translate as _
from chatapp.web.forms import ModelForm

MOST_SAVED = 100


# The name of a token, so that it is known which one to revoke, and its scope.
TokenForm = forms.modelform_factory(ApiToken, fields=("name", "scope"))
GatewayForm = forms.modelform_factory(ApiToken, fields=("name", "profile", "mode"))


class CommandForm(ModelForm[SavedCommand]):
    """A name and the text that it is short for."""

    def clean_name(self) -> str:
        """Return the name; refuse that of a built-in command."""
        name: str = self.cleaned_data["name"]
        if name in RESERVED:
            raise forms.ValidationError(_("/{name} is built in. Choose another name.", name=name))
        return name


class ForgottenForm(ResetPasswordForm):  # type: ignore[misc] # it has no types
    """Request for a new password by mail."""

    def clean_email(self) -> str:
        """Find the owner; an unknown address renders the same mail, which is not sent."""
        address: str = self.cleaned_data["email"].lower()
        owner = owner_of(address)
        active = owner if owner and owner.is_active else None
        self.users = [active or User(pk=NOBODY, username=address)]
        return address


class _Revoking(forms.Form):
    """New password, or other sessions ended, with a box that revokes API tokens (checked)."""

    revoke_tokens = forms.BooleanField(
        label=_lazy("Revoke all API tokens too"), initial=True, required=False
    )

    def save(self, *request: Any) -> None:
        """Store the password or end the sessions, and revoke the tokens."""
        super().save(*request)  # type: ignore[misc] # allauth's forms have it
        new: Any = self
        user = request[0].user if request else new.user
        if self.cleaned_data["revoke_tokens"]:
            user.api_tokens.all().delete()


# Forms for a known old password, for none, and for a link in place of it.
_forms = (ChangePasswordForm, SetPasswordForm, ResetPasswordKeyForm, ManageUserSessionsForm)
ChangedForm, FirstForm, LinkedForm, SessionsForm = (
    type(one.__name__, (_Revoking, one), {}) for one in _forms
)


class NewKeyForm(AddWebAuthnForm):  # type: ignore[misc] # it has no types
    """The name of a new passkey or security key, with labels in the reader's language."""

    name = forms.CharField(label=_lazy("Name"), required=False)


class KeyForm(EditWebAuthnForm):  # type: ignore[misc] # the same
    """Another name for a stored key."""

    name = forms.CharField(label=_lazy("Name"))


type SavedTexts = "forms.BaseInlineFormSet[Any, User, Any]"


def forms_of_saved(data: Any, owner: User) -> dict[str, SavedTexts]:
    """Return the forms of the owner's named texts, by their prefix."""
    typed = forms.TextInput({"autocapitalize": "none", "spellcheck": "false"})
    text = forms.Textarea({"rows": 8, "spellcheck": "false"})
    kinds: dict[str, tuple[Any, ...]] = {
        "commands": (SavedCommand, CommandForm, {"name": typed, "text": text}),
        "prompts": (CondensingPrompt, ModelForm, {"text": text}),
    }
    same = {NON_FIELD_ERRORS: {"unique_together": _("You have another one of this name.")}}
    limits: Any = {"extra": 0, "max_num": MOST_SAVED, "validate_max": True, "error_messages": same}
    # A request may say that it has thousands.
    limits["absolute_max"] = MOST_SAVED + 1
    made: dict[str, SavedTexts] = {}
    for prefix, (model, form, widgets) in kinds.items():
        formset = forms.inlineformset_factory(
            User, model, form, fields=("name", "text"), widgets=widgets, **limits
        )
        sent = data if data and f"{prefix}-TOTAL_FORMS" in data else None
        made[prefix] = formset(sent, instance=owner, prefix=prefix)
    return made
