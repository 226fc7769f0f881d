"""A receipt, ready to show: what became of the facts that were hidden, kind by kind."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, ngettext

import condense
from chatapp.formats import number

LONGEST_ID = 18  # digits
_LABELS: Mapping[str, Promise] = {
    "edited_files": gettext_lazy("Edited files"),
    "read_files": gettext_lazy("Files read"),
    "commands": gettext_lazy("Commands"),
    "errors": gettext_lazy("Errors"),
    "constraints": gettext_lazy("What you asked to be kept to"),
    "names": gettext_lazy("Numbers and names you gave"),
    "results": gettext_lazy("Results that replies gave"),
}
_STATES: Mapping[str, Promise] = {
    "kept": gettext_lazy("kept"),
    "named": gettext_lazy("mentioned"),
    "recoverable": gettext_lazy("can be read again"),
    "missing": gettext_lazy("missing"),
}
_LOST_FIRST = ("missing", "recoverable", "named", "kept")


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of the hidden part; ``state`` is "kept", "named", "recoverable" or "missing".

    ``words`` say so; ``index`` is its place in the record's receipt, and ``source`` the message
    that it is from, where that is known.
    """

    index: int
    text: str
    state: str
    words: str
    source: int | None = None


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of one kind, the lost ones first; of ``percent`` at least the name stands there."""

    label: str
    kept: int
    named: int
    percent: int
    facts: Sequence[Fact]


def fact_groups(receipt: condense.Receipt) -> tuple[FactGroup, ...]:
    """Return the facts by kind, the kind that lost most first, and in it those that were lost."""
    facts: defaultdict[str, list[Fact]] = defaultdict(list)
    for index, finding in enumerate(receipt.findings):
        facts[finding.probe.kind].append(fact_of(index, finding))
    return tuple(
        FactGroup(
            label=str(_LABELS[kind]),
            kept=tally.kept,
            named=tally.named,
            percent=math.floor(100 * tally.score),
            facts=sorted(facts[kind], key=lambda fact: _LOST_FIRST.index(fact.state)),
        )
        for kind, tally in receipt.tallies.items()
    )


def fact_of(index: int, finding: condense.Finding) -> Fact:
    """Return a finding, ready to show."""
    probe = finding.probe
    known = probe.source.isdecimal() and len(probe.source) <= LONGEST_ID
    source = int(probe.source) if known else None
    return Fact(index, probe.text, finding.state, _state_words(finding), source)


def _state_words(finding: condense.Finding) -> str:
    if finding.denied:
        return gettext("mentioned, with a denial near it")
    return str(_STATES[finding.state])


def facts_kept(receipt: condense.Receipt) -> str:
    """Say how many facts were kept and how many are only mentioned, "" where there were none."""
    total = receipt.total
    if not total.total:
        return ""
    said = ngettext("Kept %(kept)s of %(all)s fact", "Kept %(kept)s of %(all)s facts", total.total)
    if total.named:
        said = gettext("%(kept)s, mentioned %(named)s") % {"kept": said, "named": "%(named)s"}
    figures = {"kept": total.kept, "named": total.named, "all": total.total}
    return said % {name: number(figure) for name, figure in figures.items()}
