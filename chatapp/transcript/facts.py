"""A receipt, ready to show: what became of the facts that were hidden, kind by kind."""

from collections import defaultdict
from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, ngettext

import condense
from chatapp.rendering.numbers import number
from chatapp.transcript.rows import Fact, FactGroup

_LABELS: Mapping[str, Promise] = {
    "edited_files": gettext_lazy("Edited files"),
    "read_files": gettext_lazy("Files read"),
    "commands": gettext_lazy("Commands"),
    "errors": gettext_lazy("Errors"),
    "constraints": gettext_lazy("What you asked to be kept to"),
    "names": gettext_lazy("Numbers and names you gave"),
}
_LOST_FIRST = ("missing", "recoverable", "kept")


def fact_groups(receipt: condense.Receipt) -> tuple[FactGroup, ...]:
    """Return the facts by kind, those that were lost first."""
    facts: defaultdict[str, list[Fact]] = defaultdict(list)
    for index, finding in enumerate(receipt.findings):
        facts[finding.probe.kind].append(Fact(index, finding.probe.text, finding.state))
    return tuple(
        FactGroup(
            label=str(_LABELS[kind]),
            kept=tally.kept,
            facts=sorted(facts[kind], key=lambda fact: _LOST_FIRST.index(fact.state)),
        )
        for kind, tally in receipt.tallies.items()
    )


def facts_kept(receipt: condense.Receipt) -> str:
    """Say how many facts were kept, "" where there were none."""
    if not receipt.total.total:
        return ""
    total = receipt.total
    said = ngettext("Kept %(kept)s of %(all)s fact", "Kept %(kept)s of %(all)s facts", total.total)
    return said % {"kept": number(total.kept), "all": number(total.total)}
