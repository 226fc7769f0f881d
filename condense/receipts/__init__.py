"""What a condensation kept, what can be found again, and what is missing, without a model.

A fact is *kept* where the model still reads it word for word; *recoverable* where the file is
still there, or the history can be searched and the model still reads a word to search for;
*missing* otherwise.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

from condense.facts import plain_text
from condense.messages import Message
from condense.receipts.lookup import stand_in
from condense.receipts.probes import KINDS, Kind, Probe, probes_of

State = Literal["kept", "recoverable", "missing"]
_WORDS = ("names", "edited_files", "read_files")
_CLUE = re.compile(r"[^\W\d_]{4,}")

__all__ = ["KINDS", "Finding", "Kind", "Probe", "Receipt", "Tally", "probes_of", "receipt"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A probe and what became of its fact."""

    probe: Probe
    state: State


@dataclass(frozen=True, slots=True)
class Tally:
    """How many facts of a kind were kept, can be found again, or are missing."""

    kept: int = 0
    recoverable: int = 0
    missing: int = 0

    @property
    def total(self) -> int:
        """All facts of the kind."""
        return self.kept + self.recoverable + self.missing

    @property
    def score(self) -> float:
        """The share that was kept, from 0 to 1; 1 where there was nothing to keep."""
        return self.kept / self.total if self.total else 1.0


@dataclass(frozen=True)
class Receipt:
    """The findings of one condensation, kind by kind."""

    findings: tuple[Finding, ...] = ()

    @cached_property
    def tallies(self) -> Mapping[Kind, Tally]:
        """The counts of every kind that occurs."""
        kinds = [kind for kind in KINDS if any(f.probe.kind == kind for f in self.findings)]
        return {kind: _tally(f for f in self.findings if f.probe.kind == kind) for kind in kinds}

    @cached_property
    def total(self) -> Tally:
        """The counts of all kinds together."""
        return _tally(self.findings)

    def of(self, state: State) -> tuple[Probe, ...]:
        """Return the probes that ended like this, to list or to put back."""
        return tuple(finding.probe for finding in self.findings if finding.state == state)

    def with_kept(self, index: int) -> Self:
        """Return the receipt after a fact was put back, by the index of its finding."""
        kept = replace(self.findings[index], state="kept")
        return type(self)((*self.findings[:index], kept, *self.findings[index + 1 :]))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the findings as plain data, to store with the condensation."""
        return [{**asdict(finding.probe), "state": finding.state} for finding in self.findings]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Self:
        """Return the receipt that :meth:`to_json` gave."""
        return cls(tuple(_finding(**item) for item in data))


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
    text = kept if isinstance(kept, str) else plain_text(kept)
    clues = frozenset(_CLUE.findall(text.lower())) if searchable else frozenset()
    probes = probes_of(hidden)
    findings = (
        Finding(probe, "kept" if is_kept else _state(probe, clues, on_disk))
        for probe, is_kept in zip(probes, _kept(probes, text), strict=True)
    )
    return Receipt(tuple(findings))


def _state(probe: Probe, clues: frozenset[str], on_disk: Callable[[str], bool] | None) -> State:
    if on_disk and probe.kind.endswith("_files") and on_disk(probe.text):
        return "recoverable"
    if clues and not clues.isdisjoint(_CLUE.findall(probe.text.lower())):
        return "recoverable"
    return "missing"


def _kept(probes: Sequence[Probe], text: str) -> list[bool]:
    """Whether the text says each; a file's name, a name or a number only as a whole word."""
    found = stand_in(text, [(probe.needle, probe.kind in _WORDS) for probe in probes])
    return [
        is_there and probe.folder in text for probe, is_there in zip(probes, found, strict=True)
    ]


def _tally(findings: Iterable[Finding]) -> Tally:
    states = [finding.state for finding in findings]
    return Tally(*(states.count(state) for state in ("kept", "recoverable", "missing")))


def _finding(state: State, **probe: Any) -> Finding:
    return Finding(Probe(**probe), state)
