"""A receipt, ready to show: what became of the facts that were hidden, kind by kind."""

from collections.abc import Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chatapp.rendering.numbers import number
from chatapp.transcript.rows import Fact, FactGroup

_LABELS: dict[str, str | Promise] = {
    "edited_files": gettext_lazy("Edited files"),
    "read_files": gettext_lazy("Files read"),
    "commands": gettext_lazy("Commands"),
    "errors": gettext_lazy("Errors"),
    "constraints": gettext_lazy("What you asked to be kept to"),
    "names": gettext_lazy("Numbers and names you gave"),
}
_LOST_FIRST = ("missing", "recoverable", "kept")


def fact_groups(receipt: Sequence[dict[str, Any]]) -> tuple[FactGroup, ...]:
    """Return the facts of a stored receipt by kind, in the order the engine gives the kinds."""
    by_kind: dict[str, list[Fact]] = {}
    for index, finding in enumerate(receipt):
        fact = Fact(index, finding["text"], finding["state"])
        by_kind.setdefault(finding["kind"], []).append(fact)
    return tuple(_group(kind, facts) for kind, facts in by_kind.items())


def _group(kind: str, facts: list[Fact]) -> FactGroup:
    kept = sum(fact.state == "kept" for fact in facts)
    facts.sort(key=lambda fact: _LOST_FIRST.index(fact.state))
    return FactGroup(str(_LABELS.get(kind, kind)), kept, tuple(facts))


def facts_kept(receipt: Sequence[dict[str, Any]]) -> str:
    """Say how many facts were kept, "" where there were none."""
    if not receipt:
        return ""
    kept = sum(finding["state"] == "kept" for finding in receipt)
    return _("Kept %(kept)s of %(all)s facts") % {
        "kept": number(kept),
        "all": number(len(receipt)),
    }
