"""Accounts: sign-in, API tokens, and the prompts and slash commands that a user saves."""

from typing import Any, override

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.translation import gettext as _

from chatapp.accounts.credentials import GuessLimit
from chatapp.composer.slash_commands import RESERVED
from chatapp.forms import ModelForm
from chatapp.models import ApiToken, CondensingPrompt, SavedCommand

MOST = 100


class SignInForm(AuthenticationForm):
    """Django's form, which says so when too many passwords were wrong."""

    @override
    def get_invalid_login_error(self) -> ValidationError:
        """Return why nobody was signed in."""
        account = self.cleaned_data.get("username", "")
        if GuessLimit(self.request, realm="sign-in", account=account).is_reached:
            text = _("Too many passwords were wrong. Try again in 15 minutes.")
            return ValidationError(text, code="limited")
        return super().get_invalid_login_error()


# What a token is called, so that it is known which one to revoke, and its scope.
TokenForm = forms.modelform_factory(ApiToken, fields=("name", "scope"))


class CommandForm(ModelForm[SavedCommand]):
    """A name and the text that it is short for."""

    def clean_name(self) -> str:
        """Return a name that nothing built in has."""
        name: str = self.cleaned_data["name"]
        if name in RESERVED:
            raise forms.ValidationError(_("/%s is built in. Choose another name.") % name)
        return name


type SavedTexts = "forms.BaseInlineFormSet[Any, User, Any]"


def forms_of_saved(data: Any, owner: User) -> dict[str, SavedTexts]:
    """Return the forms of all that the owner saved under a name, by their prefix."""
    typed = forms.TextInput({"autocapitalize": "none", "spellcheck": "false"})
    text = forms.Textarea({"rows": 8, "spellcheck": "false"})
    kinds: dict[str, tuple[Any, ...]] = {
        "commands": (SavedCommand, CommandForm, {"name": typed, "text": text}),
        "prompts": (CondensingPrompt, ModelForm, {"text": text}),
    }
    same = {NON_FIELD_ERRORS: {"unique_together": _("You have another one of this name.")}}
    limits: Any = {"extra": 0, "max_num": MOST, "validate_max": True, "error_messages": same}
    made: dict[str, SavedTexts] = {}
    for prefix, (model, form, widgets) in kinds.items():
        formset = forms.inlineformset_factory(
            User, model, form, fields=("name", "text"), widgets=widgets, **limits
        )
        sent = data if data and f"{prefix}-TOTAL_FORMS" in data else None
        made[prefix] = formset(sent, instance=owner, prefix=prefix)
    return made
