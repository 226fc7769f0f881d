"""Forms: what people may enter, and in which bounds."""

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
