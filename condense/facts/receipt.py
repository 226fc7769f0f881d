"""Receipts: the facts a condensation kept, those that can be found again, and the missing.

A fact is *kept* where the model still reads what was said, word for word but for how it is
written; *named* where only its name stands there, and nobody knows what is said of it;
*recoverable* where the file is still there, or a search with the fact's words finds a message that
says it among the first five; *missing* otherwise.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal, Self, get_args

from condense.facts.calls import is_edit, read_calls, touched_paths
from condense.facts.lookup import Shown
from condense.facts.markdown import BEGINNINGS, ledger_of, parse_ledger
from condense.facts.probes import KINDS, FactKind, Probe, probes_of
from condense.facts.texts import plain_text
from condense.messages import Message
from condense.recall.passages import Recall

FactState = Literal["kept", "named", "recoverable", "missing"]
STATES: tuple[FactState, ...] = get_args(FactState)
FIRST = 5  # results of a search that are looked at


@dataclass(frozen=True, slots=True)
class Finding:
    """A probe and what became of its fact; ``denied`` is of receipts on record."""

    probe: Probe
    state: FactState
    denied: bool = False


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
    search: Recall | None = None,
    on_disk: Callable[[str], bool] | None = None,
) -> Receipt:
    """Return what became of the facts of ``hidden``, where the model reads ``kept`` instead.

    ``search`` is the model's own, of these messages among all that it does not see. ``on_disk``
    tells whether a file still exists. What neither is there for is not recoverable.
    """
    probes = probes_of(hidden)
    shown = Shown(kept if isinstance(kept, str) else plain_text(kept))
    files = dict(_files_of(kept))
    states = [_state(probe, shown, files) for probe in probes]
    said = {message.id: message for message in hidden}

    @cache
    def text_of(id_: str) -> str:
        return " ".join(plain_text([said[id_].lasting]).split()) if id_ in said else ""

    found: list[Finding] = []
    for probe, known in zip(probes, states, strict=True):
        state: FactState = known or "missing"
        if known is None:
            first = [text_of(one.id) for one in search(probe.text, FIRST)] if search else []
            is_there = on_disk and probe.kind.endswith("_files") and on_disk(probe.text)
            if is_there or any(probe.needle in text for text in first):
                state = "recoverable"
        found.append(Finding(probe, state))
    return Receipt(tuple(found))


def _state(probe: Probe, shown: Shown, files: Mapping[str, bool]) -> FactState | None:
    """Return whether a fact is kept or named, None where nothing of it stands there."""
    if probe.kind.endswith("_files"):
        edited = files.get(probe.text)
        if edited or (edited is not None and probe.kind == "read_files"):
            return "kept"
        *folders, name = probe.text.rsplit("/", 2)
        near = f"{folders[-1]}/{name}" if folders else name
        if shown.says(near):
            return "kept" if folders else "named"
        return "named" if edited is not None or shown.says(name) else None
    if probe.kind == "names":
        if shown.has(probe.context):
            return "kept"
        return "named" if shown.says(probe.needle) else None
    return "kept" if shown.has(probe.needle) else None


def _files_of(kept: Sequence[Message] | str) -> Iterable[tuple[str, bool]]:
    """Yield the paths that ledgers and calls tell of, and whether they were edited."""
    if isinstance(kept, str):
        starts = [start for begin in BEGINNINGS if (start := kept.find(begin)) >= 0]
        ledgers = [parse_ledger(kept[start:]) for start in starts]
    else:
        ledgers = [ledger_of(message) for message in kept]
        for _, call in read_calls(kept):
            if call.outcome == "ok":
                yield from ((path, is_edit(call)) for path in touched_paths(call))
    for ledger in filter(None, ledgers):
        yield from ((file.path, file.edited) for file in ledger.files)


def _tally(findings: Iterable[Finding]) -> Tally:
    states = [finding.state for finding in findings]
    return Tally(*[states.count(state) for state in STATES])
