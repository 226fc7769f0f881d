"""Conversation forms: spending limit, tools and prompt, and places to rewind to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from chatapp.agent.ports import ToolPolicy
from chatapp.conversations.toolbox.toolbox import specs_for, toolbox_for
from chatapp.models import Conversation, Profile
from chatapp.tools import TOOL_SPECS
from chatapp.web.forms import KeepingForm, ModelForm
from chatapp.web.forms.preferences import own_prompt, prompt_field

TOOL_PREFIX = "tool"
LABELS = {ToolPolicy.ALLOW: _("Allow"), ToolPolicy.ASK: _("Ask"), ToolPolicy.DENY: _("Deny")}
ACCESS = {
    "read": _("reads"),
    "write": _("changes files"),
    "execute": _("runs commands"),
    "network": _("calls other servers"),
}
# These reach nothing outside the conversation.
WITHIN = ("ask_user", "update_todo_list")


class RewindForm(forms.Form):
    """A place in a conversation, and the condensation it was chosen at, if any.

    The ``key`` makes going back there twice harmless; ``with_files`` the workspace goes back too.
    """

    to_seq = forms.IntegerField(min_value=1)
    condensation = forms.UUIDField(required=False)
    key = forms.UUIDField(required=False)
    with_files = forms.BooleanField(required=False)


class ConversationForm(ModelForm[Conversation]):
    """Settings of one conversation: automatic recall, and the budget of its calls in USD.

    Empty fields mean the owner's setting of recall, and no limit.
    """

    auto_recall = forms.NullBooleanField(
        label=_("Recall automatically"), required=False, widget=forms.Select
    )

    class Meta:
        model = Conversation
        fields = ("auto_recall", "budget")
        labels: ClassVar[dict[str, Any]] = {"budget": _("Budget (USD)")}

    def __init__(self, *args: Any, recalls: bool = True, **kwargs: Any) -> None:
        """Offer the owner's setting of recall, with its value ``recalls``, as the default."""
        super().__init__(*args, **kwargs)
        inherited = _("as in Settings: on") if recalls else _("as in Settings: off")
        choices = [("", inherited), (True, _("on")), (False, _("off"))]
        self.fields["auto_recall"].widget.choices = choices


class SystemPromptForm(KeepingForm, forms.Form):
    """The system prompt of a conversation, in place of its profile's."""

    system_prompt = prompt_field(_("System prompt"))

    def __init__(self, data: Any = None, *, own: str, inherited: str) -> None:
        super().__init__(data, initial={"system_prompt": own or inherited})
        self.inherited = inherited

    def prompt(self) -> str:
        """Return the prompt to store, "" for the inherited one."""
        return own_prompt(self.cleaned_data["system_prompt"], self.inherited)


class PoliciesForm(KeepingForm, forms.Form):
    """A choice for each tool; an undecided one is as inherited, or as the tool has it.

    Tools that operators ``denied``, or that are off on this server, leave nothing to decide: what
    was decided about them before is kept.
    """

    def __init__(
        self,
        data: Any = None,
        *,
        profile: Profile,
        decided: Mapping[str, str],
        inherited: Mapping[str, str],
    ) -> None:
        super().__init__(data, prefix=TOOL_PREFIX)
        self.denied = sorted(profile.binding.denied_tools)
        self._kept = {}
        usable = toolbox_for(Path(), None, profile).usable
        for spec in specs_for(profile.mcp_servers).values():
            is_off = spec.name in TOOL_SPECS and spec.name not in usable
            if spec.name in decided and (is_off or spec.name in self.denied):
                self._kept[spec.name] = decided[spec.name]
            if spec.name in self.denied:
                continue
            holds, words = spec.default_policy, _("%(policy)s (default)")
            if inherited.get(spec.name) in set(ToolPolicy):
                holds, words = ToolPolicy(inherited[spec.name]), _("%(policy)s (inherited)")
            self.fields[spec.name] = forms.ChoiceField(
                label=spec.name,
                required=False,
                disabled=is_off,
                choices=[
                    ("", _("off on this server") if is_off else words % {"policy": LABELS[holds]}),
                    *LABELS.items(),
                ],
                initial="" if is_off else decided.get(spec.name, ""),
                help_text="" if spec.name in WITHIN else ACCESS[spec.access],
            )

    def policies(self) -> dict[str, str]:
        """Return the decisions by the names of the tools."""
        return self._kept | {name: one for name, one in self.cleaned_data.items() if one}
