"""A token for the API: what it is for, and what may be done with it."""

from typing import TYPE_CHECKING

from django import forms

from chatapp.models import ApiToken

if TYPE_CHECKING:
    TokenModelForm = forms.ModelForm[ApiToken]
else:
    # Generic for the type checker only.
    TokenModelForm = forms.ModelForm


class TokenForm(TokenModelForm):
    """What a token is called, so that it is known which one to revoke, and its scope."""

    class Meta:
        model = ApiToken
        fields = ("name", "scope")
