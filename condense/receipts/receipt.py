"""Receipts: the facts a condensation kept, those that can be found again, and the missing.

A fact is *kept* where the model still reads what was said, word for word but for how it is
written; *named* where only its name or its words stand there, and nobody knows what is said of
them; *recoverable* where the file is still there, or the history can be searched and the model
still reads a word to search for; *missing* otherwise.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self, get_args

from condense.messages import Message
from condense.receipts.judgement import FactState, Finding, Judge
from condense.receipts.probes import KINDS, FactKind, Probe, probes_of

STATES: tuple[FactState, ...] = get_args(FactState)
_CLUE = re.compile(r"[^\W\d_]{4,}")


@dataclass(frozen=True, slots=True)
class Tally:
    """How many facts of a kind were kept, only named, can be found again, or are missing."""

    kept: int = 0
    named: int = 0
    recoverable: int = 0
    missing: int = 0

    @property
    def total(self) -> int:
        """All facts of the kind."""
        return self.kept + self.named + self.recoverable + self.missing

    @property
    def score(self) -> float:
        """The share that still stands there, from 0 to 1; 1 where there was nothing to keep."""
        return (self.kept + self.named) / self.total if self.total else 1.0


@dataclass(frozen=True)
class Receipt:
    """The findings of one condensation, kind by kind."""

    findings: tuple[Finding, ...] = ()

    @cached_property
    def tallies(self) -> Mapping[FactKind, Tally]:
        """The counts of every kind that occurs, the kind with the worst score first."""
        counts = {
            kind: _tally([f for f in self.findings if f.probe.kind == kind]) for kind in KINDS
        }
        there = [(kind, tally) for kind, tally in counts.items() if tally.total]
        return dict(sorted(there, key=lambda one: one[1].score))

    @cached_property
    def total(self) -> Tally:
        """The counts of all kinds together."""
        return _tally(self.findings)

    def of(self, state: FactState) -> tuple[Probe, ...]:
        """Return the probes that ended like this, to list or to put back."""
        return tuple([finding.probe for finding in self.findings if finding.state == state])

    def with_kept(self, index: int) -> Self:
        """Return the receipt after a fact was put back, by the index of its finding."""
        kept = replace(self.findings[index], state="kept", denied=False)
        return type(self)((*self.findings[:index], kept, *self.findings[index + 1 :]))

    def with_sources(self, ids: Mapping[str, str]) -> Self:
        """Return the receipt for copies of the messages, by the ids of the originals."""
        probes = [one.probe for one in self.findings]
        copies = [replace(one, source=ids.get(one.source, one.source)) for one in probes]
        pairs = zip(self.findings, copies, strict=True)
        return type(self)(tuple([replace(one, probe=probe) for one, probe in pairs]))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the findings as plain data, to store with the condensation."""
        return [
            {**asdict(one.probe), "state": one.state, "denied": one.denied} for one in self.findings
        ]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Self:
        """Return the receipt that :meth:`to_json` gave, now or in an earlier release."""
        findings = []
        for item in data:
            probe = {key: said for key, said in item.items() if key not in {"state", "denied"}}
            findings.append(Finding(Probe(**probe), item["state"], item.get("denied", False)))
        return cls(tuple(findings))


def receipt(
    hidden: Sequence[Message],
    kept: Sequence[Message] | str,
    *,
    searchable: bool = True,
    on_disk: Callable[[str], bool] | None = None,
) -> Receipt:
    """Return what became of the facts of ``hidden``, where the model reads ``kept`` instead.

    ``searchable`` says whether the model may search the history; ``on_disk`` whether a file still
    exists, and without it none counts as recoverable for being a file.
    """
    judge = Judge(kept)
    clues = frozenset(_CLUE.findall(judge.text)) if searchable else frozenset()

    def otherwise(probe: Probe) -> FactState:
        is_there = on_disk and probe.kind.endswith("_files") and on_disk(probe.text)
        clue = clues and not clues.isdisjoint(_CLUE.findall(probe.text.casefold()))
        return "recoverable" if is_there or clue else "missing"

    return Receipt(tuple(judge.judge(probes_of(hidden), otherwise)))


def _tally(findings: Iterable[Finding]) -> Tally:
    states = [finding.state for finding in findings]
    return Tally(*[states.count(state) for state in STATES])
