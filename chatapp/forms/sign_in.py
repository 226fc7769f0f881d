"""Access: a name with its password, and tokens for the API."""

from typing import override

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from chatapp.accounts.passwords import Brake
from chatapp.forms.base import ModelForm
from chatapp.models import ApiToken


class SignInForm(AuthenticationForm):
    """Django's form, which says so when too many passwords were wrong."""

    @override
    def get_invalid_login_error(self) -> ValidationError:
        """Return why nobody was signed in."""
        if Brake(self.request, door="sign-in", account=self.cleaned_data.get("username", "")).is_on:
            text = _("Too many passwords were wrong. Wait a quarter of an hour, then try again.")
            return ValidationError(text, code="braked")
        return super().get_invalid_login_error()


class TokenForm(ModelForm[ApiToken]):
    """What a token is called, so that it is known which one to revoke, and its scope."""

    class Meta:
        model = ApiToken
        fields = ("name", "scope")
