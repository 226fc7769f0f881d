"""Which tools may run: allowed, asked about or denied, each by name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from chatapp.agent.toolbox import Policy, ToolSpec

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

PREFIX = "tool"
LABELS = {Policy.ALLOW: _("allow"), Policy.ASK: _("ask me"), Policy.DENY: _("deny")}
ACCESS = {
    "read": _("reads"),
    "write": _("changes files"),
    "execute": _("runs commands"),
    "network": _("calls other servers"),
}


class PoliciesForm(forms.Form):
    """A choice for each tool; what nobody decided is as inherited, or as the tool has it."""

    def __init__(
        self,
        data: Any = None,
        *,
        specs: Iterable[ToolSpec],
        decided: Mapping[str, str],
        inherited: Mapping[str, str],
    ) -> None:
        """Take the tools, what is decided here, and what holds where nothing is."""
        super().__init__(data, prefix=PREFIX)
        for spec in specs:
            name = spec.name
            self.fields[name] = forms.ChoiceField(
                label=name,
                required=False,
                choices=_choices(spec, inherited.get(name, "")),
                initial=decided.get(name, ""),
                help_text=ACCESS[spec.access],
            )

    def policies(self) -> dict[str, str]:
        """Return what was decided, by the names of the tools."""
        return {name: policy for name, policy in self.cleaned_data.items() if policy}

    def rows(self) -> Iterator[forms.BoundField]:
        """Yield the fields, for the template."""
        return iter(self)


def _choices(spec: ToolSpec, inherited: str) -> "list[tuple[str, str | _StrPromise]]":
    holds = Policy(inherited) if inherited in set(Policy) else spec.default_policy
    default = _("as before: %(policy)s") if inherited else _("default: %(policy)s")
    return [
        ("", str(default) % {"policy": LABELS[holds]}),
        *((policy.value, label) for policy, label in LABELS.items()),
    ]
