"""Forms: the possible input of people, and its limits."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, override

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chatapp.models import fields
from chatapp.models.errors import DecryptionFailed
from chatapp.project.languages import in_words
from chatapp.project.network import AddressRefused, Guard
from chatapp.project.sentences import translate as _

# The names of fields that a page sends as it has got them.
KEPT = "kept"


class KeepingForm(forms.BaseForm):
    """A form that keeps the stored values of fields which were not touched on its page.

    Two pages that are saved one after the other undo nothing of each other so.
    """

    @override
    def full_clean(self) -> None:
        """Check the values that were sent, and the stored ones in place of those untouched."""
        if isinstance(self.data, QueryDict) and (kept := {*self.data.getlist(KEPT)}):
            self.data = data = self.data.copy()
            for name, field in self.fields.items():
                if (sent := self.add_prefix(name)) in kept:
                    value = field.prepare_value(self.get_initial_for_field(field, name))
                    data.setlist(sent, value if isinstance(value, list) else [value])
        super().full_clean()


if TYPE_CHECKING:
    ModelForm = forms.ModelForm
else:

    class ModelForm(KeepingForm, forms.ModelForm):
        """Django's form; ``ModelForm[Profile]`` is the same class."""

        @classmethod
        def __class_getitem__(cls, _model: Any) -> type[Self]:
            return cls


def check_address(url: str, *, is_base: bool = False) -> None:
    """Refuse an address that may not be called; its name is resolved at each call only."""
    guard = Guard(settings.ALLOW_PRIVATE_ADDRESSES)
    check = guard.check_base if is_base else guard.check
    try:
        if url:
            check(url)
    except AddressRefused as error:
        raise forms.ValidationError(in_words(str(error))) from error


class SecretInput(forms.Widget):
    """Makes a widget one for a secret, which no page shows.

    If another field is wrong, the page holds the secret sealed, and only its ``owner`` can send it.
    """

    owner: int | None = None

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        """Return the typed text, or else the sealed text of the page."""
        typed = super().value_from_datadict(data, files, name)
        with suppress(DecryptionFailed):
            whose, _sign, held = fields.decrypt(data.get(f"sealed_{name}", "")).partition(":")
            typed = typed or (held if whose == str(self.owner) else "")
        return typed

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Return the field empty, followed by the typed text, sealed."""
        field = super().render(name, None, attrs, renderer)
        hidden = '{}<input type="hidden" name="sealed_{}" value="{}"><p class="key-state">{}</p>'
        said = _("What you typed is kept. Save to store it.")
        sealed = value and fields.encrypt(f"{self.owner}:{value}")
        return format_html(hidden, field, name, sealed, said) if sealed else field


class KeyInput(SecretInput, forms.PasswordInput):
    """A line for a secret."""


class SecretLines(SecretInput, forms.Textarea):
    """Several lines for a secret."""
