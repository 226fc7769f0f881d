"""Words of receipts: the facts of hidden messages, each with its verdict."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

import condense
from chatapp.project.sentences import in_a_row
from chatapp.project.sentences import translate as _

_LONGEST_ID = 18  # digits


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of the hidden part with its verdict."""

    index: int  # place in the record's receipt
    text: str
    state: condense.FactState
    words: str  # say the verdict
    source: int | None = None  # number of the message that it is from, if known
    marked: tuple[str, str, str] = ("", "", "")  # the figure or name is the second part
    instead: str = ""  # the summary's text in its place


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of one kind, the lost ones first; ``others`` are not kept."""

    label: str
    facts: Sequence[Fact]
    others: Sequence[Fact]
    kept_facts: Sequence[Fact]

    @property
    def kept(self) -> int:
        """The number of facts that are kept."""
        return len(self.kept_facts)


_FACT_KINDS: Mapping[str, Promise] = {
    "edited_files": gettext_lazy("Edited files"),
    "read_files": gettext_lazy("Files read"),
    "commands": gettext_lazy("Commands"),
    "errors": gettext_lazy("Errors"),
    "constraints": gettext_lazy("Rules you set"),
    "names": gettext_lazy("Numbers and names you gave"),
    "results": gettext_lazy("Results in answers"),
}
# Lost facts first.
_VERDICTS: Mapping[condense.FactState, Promise] = {
    "lost": gettext_lazy("lost"),
    "changed": gettext_lazy("changed"),
    "recoverable": gettext_lazy("recoverable"),
    "named": gettext_lazy("named only"),
    "kept": gettext_lazy("kept"),
}


def facts_of(receipt: condense.Receipt) -> list[Fact]:
    """Return the findings of a receipt in its order."""
    facts = []
    for index, finding in enumerate(receipt.findings):
        source, verdict, words = finding.source, finding.verdict, str(_VERDICTS[finding.verdict])
        if finding.denied:
            words = _("named only, with a denial near it")
        known = source.isdecimal() and len(source) <= _LONGEST_ID
        pk = int(source) if known else None
        instead = finding.context if verdict == "changed" else ""
        facts.append(Fact(index, finding.quote, verdict, words, pk, finding.marked, instead))
    return facts


def fact_groups(receipt: condense.Receipt) -> list[FactGroup]:
    """Return the facts by kind, the kind that lost most first, and in it those that were lost."""
    facts: defaultdict[str, list[Fact]] = defaultdict(list)
    for finding, fact in zip(receipt.findings, facts_of(receipt), strict=True):
        facts[finding.kind].append(fact)
    order, groups = list(_VERDICTS), []
    for kind in receipt.tallies:
        alike = sorted(facts[kind], key=lambda fact: order.index(fact.state))
        kept = [fact for fact in alike if fact.state == "kept"]
        others = alike[: len(alike) - len(kept)]
        groups.append(FactGroup(str(_FACT_KINDS[kind]), alike, others, kept))
    return groups


def facts_kept(receipt: condense.Receipt) -> str:
    """Return the number of facts by verdict in a sentence, "" without facts."""
    total = receipt.total
    if not total.total:
        return ""
    told = {"kept": total.kept, "count": total.total}
    if total.kept == total.total:
        return _("{count:,} fact kept", "All {count:,} facts kept", **told)
    said = _("{kept:,} of {count:,} fact kept", "{kept:,} of {count:,} facts kept", **told)
    others = [
        (total.lost, _("{count:,} lost", "{count:,} lost", count=total.lost)),
        (total.changed, _("{count:,} changed", "{count:,} changed", count=total.changed)),
        (
            total.recoverable,
            _("{count:,} recoverable", "{count:,} recoverable", count=total.recoverable),
        ),
        (total.named, _("{count:,} named only", "{count:,} named only", count=total.named)),
    ]
    rest = in_a_row([words for count, words in others if count])
    return _("{kept}; {others}", kept=said, others=rest)
