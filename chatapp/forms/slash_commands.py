"""The commands that a user keeps for all conversations."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chatapp.composer import slash_commands
from chatapp.forms.base import ModelForm
from chatapp.models import SavedCommand

PREFIX = "commands"
MOST = 100


class CommandForm(ModelForm[SavedCommand]):
    """A name and the text that it is short for."""

    class Meta:
        model = SavedCommand
        fields = ("name", "text")
        labels = {"name": gettext_lazy("Name"), "text": gettext_lazy("Text")}  # noqa: RUF012 - as Django has it
        widgets = {  # noqa: RUF012 - as Django has it
            "name": forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
            "text": forms.Textarea(attrs={"rows": 5}),
        }

    def clean_name(self) -> str:
        """Return a name that nothing built in has."""
        name: str = self.cleaned_data["name"]
        if name in slash_commands.RESERVED:
            raise forms.ValidationError(_("/%s is built in. Choose another name.") % name)
        return name


type CommandFormSet = "forms.BaseInlineFormSet[SavedCommand, User, CommandForm]"


def command_forms(data: Any, owner: User) -> CommandFormSet:
    """Return a form for each of the owner's commands; without any there is one to begin with."""
    made = forms.inlineformset_factory(
        User,
        SavedCommand,
        form=CommandForm,
        extra=0,
        max_num=MOST,
        validate_max=True,
        can_delete=True,
    )
    sent = data if data and f"{PREFIX}-TOTAL_FORMS" in data else None
    return made(sent, instance=owner, prefix=PREFIX)
