"""Receipts: the facts a condensation kept, those that can be found again, and the missing.

A fact is *kept* where the model still reads what was said, word for word but for how it is
written; *named* where only its name stands there, and nobody knows what is said of it;
*recoverable* where the file is still there, or a search with the fact's words finds a message that
says it among the first five; *missing* otherwise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal, Self, get_args

from condense.facts.calls import is_lookup
from condense.facts.ledger import BEGINNINGS, FileUse, parse_ledger
from condense.facts.names import names_in
from condense.facts.notebook import Notebook
from condense.facts.texts import Shown, plain_text
from condense.messages import Message
from condense.recall.passages import Recall

# Receipts on record may have results, too: figures of replies.
FactKind = Literal[
    "edited_files", "read_files", "commands", "errors", "constraints", "names", "results"
]
KINDS: tuple[FactKind, ...] = get_args(FactKind)
FactState = Literal["kept", "named", "recoverable", "missing"]
STATES: tuple[FactState, ...] = get_args(FactState)
FIRST_RESULTS = 5  # of a search that are looked at
MOST_FACTS = 200  # of each kind, the newest; nobody reads more, and each is looked up
LEAST_CHARS = 8  # a shorter command is a word that may stand anywhere
AROUND_CHARS = 40  # on each side with which a name was said


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact and what became of it: ``text`` for people, ``needle`` to look for.

    ``source`` is the id of the message that told of it last, ``context`` what was said with a
    name. ``folder`` and ``denied`` are of receipts on record.
    """

    kind: FactKind
    text: str
    needle: str
    source: str = ""
    folder: str = ""
    context: str = ""
    state: FactState = "missing"
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
            kind: _tally([one for one in self.findings if one.kind == kind]) for kind in KINDS
        }
        there = [(kind, tally) for kind, tally in counts.items() if tally.total]
        return dict(sorted(there, key=lambda one: one[1].score))

    @cached_property
    def total(self) -> Tally:
        """The counts of all kinds together."""
        return _tally(self.findings)

    def of(self, state: FactState) -> tuple[Finding, ...]:
        """Return the facts that ended like this, to list or to put back."""
        return tuple([finding for finding in self.findings if finding.state == state])

    def with_kept(self, index: int) -> Self:
        """Return the receipt after a fact was put back, by the index of its finding."""
        kept = replace(self.findings[index], state="kept", denied=False)
        return type(self)((*self.findings[:index], kept, *self.findings[index + 1 :]))

    def with_sources(self, ids: Mapping[str, str]) -> Self:
        """Return the receipt for copies of the messages, by the ids of the originals."""
        known = [(one, ids.get(one.source, one.source)) for one in self.findings]
        return type(self)(tuple([replace(one, source=source) for one, source in known]))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the findings as plain data, to store with the condensation."""
        return [asdict(one) for one in self.findings]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Self:
        """Return the receipt that :meth:`to_json` gave, now or in an earlier release."""
        return cls(tuple([Finding(**item) for item in data]))


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
    # Kind by kind, each fact once, where it was said last.
    told = {(fact.kind, fact.text): fact for fact in _facts(hidden)}.values()
    by_kind = [[fact for fact in told if fact.kind == kind] for kind in KINDS]
    facts = [fact for alike in by_kind for fact in alike[-MOST_FACTS:]]
    shown = Shown(kept if isinstance(kept, str) else plain_text(kept))
    files = _files_of(kept)
    said = {message.id: message for message in hidden}

    @cache
    def text_of(id_: str) -> str:
        return " ".join(plain_text([said[id_].lasting]).split()) if id_ in said else ""

    found: list[Finding] = []
    for fact in facts:
        state = _state(fact, shown, files)
        if state == "missing":
            first = [text_of(one.id) for one in search(fact.text, FIRST_RESULTS)] if search else []
            is_there = on_disk and fact.kind.endswith("_files") and on_disk(fact.text)
            if is_there or any(fact.needle in text for text in first):
                state = "recoverable"
        found.append(replace(fact, state=state))
    return Receipt(tuple(found))


def _facts(hidden: Sequence[Message]) -> Iterator[Finding]:
    notebook = Notebook()
    notebook.read(hidden)
    sources = notebook.sources
    for path, file in notebook.files.items():
        kind: FactKind = "edited_files" if file.edited else "read_files"
        yield Finding(kind, path, path, sources[path])
    for head in notebook.runs:
        if len(head) >= LEAST_CHARS and not is_lookup(head):
            yield Finding("commands", head, head, sources[head])
    for failure in notebook.failures:
        line = failure.message.removesuffix("…")
        yield Finding("errors", line, line, sources[failure.subject])
    for rule in notebook.rules:
        yield Finding("constraints", rule, rule.rstrip(" .!。！"), sources[rule])
    for request in notebook.requests:
        text = request.text
        for name, at in names_in(text):
            needle = name.removesuffix("…")
            # With the words beside it in its line.
            end = at + len(needle)
            start = max(at - AROUND_CHARS, text.rfind("\n", max(0, at - AROUND_CHARS), at) + 1)
            context = text[start : end + AROUND_CHARS].partition("\n")[0].strip()
            yield Finding("names", name, needle, sources[request], context=context)


def _state(fact: Finding, shown: Shown, files: Mapping[str, FileUse]) -> FactState:
    """Return whether a fact is kept or named; it is missing where nothing of it stands there."""
    if fact.kind.endswith("_files"):
        known = files.get(fact.text)
        if known and (known.edited or fact.kind == "read_files"):
            return "kept"
        *folders, name = fact.text.rsplit("/", 2)
        if folders and shown.says(f"{folders[-1]}/{name}"):
            return "kept"
        return "named" if known or shown.says(name) else "missing"
    if shown.has(fact.context or fact.needle):
        return "kept"
    return "named" if fact.kind == "names" and shown.says(fact.needle) else "missing"


def _files_of(kept: Sequence[Message] | str) -> Mapping[str, FileUse]:
    """Return the files that ledgers and calls tell of, by their paths."""
    notebook = Notebook()
    if isinstance(kept, str):
        starts = [start for begin in BEGINNINGS if (start := kept.find(begin)) >= 0]
        for ledger in filter(None, [parse_ledger(kept[start:]) for start in starts]):
            notebook.carry(ledger)
    else:
        notebook.read(kept)
    return notebook.files


def _tally(findings: Iterable[Finding]) -> Tally:
    states = [finding.state for finding in findings]
    return Tally(*[states.count(state) for state in STATES])
