"""What may be said about a conversation and a place in it."""

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from chatapp.models import Conversation

if TYPE_CHECKING:
    ConversationModelForm = forms.ModelForm[Conversation]
else:
    # Generic for the type checker only.
    ConversationModelForm = forms.ModelForm


class NewConversationForm(forms.Form):
    """What a conversation starts with; how long that may be is the service's to say."""

    prompt = forms.CharField(required=False)
    samples = forms.BooleanField(required=False)


class RenameForm(forms.Form):
    """A conversation's title; an empty one lets the conversation name itself."""

    title = forms.CharField(required=False, max_length=200)


class RewindForm(forms.Form):
    """A place in a conversation, and the condensation it was chosen at, if any.

    The ``key`` makes going back there twice harmless; ``with_files`` the workspace goes back too.
    """

    to_seq = forms.IntegerField(min_value=1)
    condensation = forms.UUIDField(required=False)
    key = forms.UUIDField(required=False)
    with_files = forms.BooleanField(required=False)


class BudgetForm(ConversationModelForm):
    """What the calls in a conversation may cost, in USD; nothing is as much as they do."""

    class Meta:
        model = Conversation
        fields = ("budget",)
        labels: ClassVar[dict[str, Any]] = {"budget": _("Budget (USD)")}
