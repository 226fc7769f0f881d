"""Forms: what people may enter, and in which bounds."""

from typing import TYPE_CHECKING, Any, Self

from django import forms
from django.conf import settings

from chatapp.network.address_guard import AddressRefused, Guard

if TYPE_CHECKING:
    ModelForm = forms.ModelForm
else:

    class ModelForm(forms.ModelForm):
        """Django's form; ``ModelForm[Profile]`` is the same class."""

        @classmethod
        def __class_getitem__(cls, _model: Any) -> type[Self]:
            return cls


def check_address(url: str) -> None:
    """Refuse an address that may not be called; where its name leads is seen at each call."""
    try:
        if url:
            Guard(settings.ALLOW_PRIVATE_ADDRESSES).check(url)
    except AddressRefused as error:
        raise forms.ValidationError(str(error)) from error
