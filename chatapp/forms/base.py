"""Model forms with their model as a parameter, which only the type checker needs."""

from typing import TYPE_CHECKING, Any, Self

from django import forms

if TYPE_CHECKING:
    ModelForm = forms.ModelForm
else:

    class ModelForm(forms.ModelForm):
        """Django's form; ``ModelForm[Profile]`` is the same class."""

        @classmethod
        def __class_getitem__(cls, _model: Any) -> type[Self]:
            return cls
