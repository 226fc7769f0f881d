"""Receipts: the facts a condensation kept, and those that it lost or changed.

A fact is *kept* where the model still reads what was said, or its figure or name with the words
around it; *named* where only the name stands there; *changed* where the summary has another value
in its place, which no message has; *recoverable* where the file is still there, or a search with
the fact's words finds a message that says it among the first five; *lost* otherwise.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from itertools import islice
from typing import Any, Literal, Self, get_args

from condense.facts.calls import is_lookup
from condense.facts.ledger import BEGINNINGS, FileUse, parse_ledger
from condense.facts.notebook import Notebook
from condense.facts.quotes import Quote, quotes_in
from condense.facts.texts import Shown, plain_text, sentences
from condense.facts.values import Values
from condense.messages import Message
from condense.recall.passages import Recall
from condense.recall.words import terms_in, terms_of

# Receipts on record may have results, too: figures of replies.
FactKind = Literal[
    "edited_files", "read_files", "commands", "errors", "constraints", "names", "results"
]
KINDS: tuple[FactKind, ...] = get_args(FactKind)
FactState = Literal["lost", "changed", "recoverable", "named", "kept"]
STATES: tuple[FactState, ...] = get_args(FactState)
FIRST_RESULTS = 5  # of a search that are looked at
MOST_FACTS = 200  # of each kind, the newest; nobody reads more, and each is looked up
# A figure is kept where so many of the words it was quoted with stand so near to it.
WORDS_KEPT, NEAR_CHARS, MOST_PLACES = 0.6, 100, 8
LEAST_CHARS = 8  # a shorter command is a word that may stand anywhere


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact and its state: ``text`` quotes it, ``needle`` is the figure or name in it.

    ``source`` is the id of the message that said it last. ``context`` is what a summary says
    instead, where that is another value. A receipt of an earlier release has a bare name as
    ``text`` and the words around it as ``context``; it may call a lost fact missing, and have
    ``folder`` and ``denied``.
    """

    kind: FactKind
    text: str
    needle: str
    source: str = ""
    folder: str = ""
    context: str = ""
    state: FactState | Literal["missing"] = "lost"
    denied: bool = False

    @property
    def verdict(self) -> FactState:
        """The state in today's words."""
        return "lost" if self.state == "missing" else self.state

    @property
    def quote(self) -> str:
        """The words that were said."""
        return self.text if self.state == "changed" else self.context or self.text

    @property
    def marked(self) -> tuple[str, str, str]:
        """The quote in three parts; the second is the figure or name in it, if any."""
        before, figure, after = self.quote.partition(self.needle)
        return (before, figure, after) if self.kind == "names" else (self.quote, "", "")


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of facts of a kind by verdict."""

    lost: int = 0
    changed: int = 0
    recoverable: int = 0
    named: int = 0
    kept: int = 0

    @property
    def total(self) -> int:
        """All facts of the kind."""
        return self.lost + self.changed + self.recoverable + self.named + self.kept

    @property
    def score(self) -> float:
        """The share that still stands there, from 0 to 1; 1 if there was nothing to keep."""
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

    def of(self, *verdicts: FactState) -> tuple[Finding, ...]:
        """Return the facts with one of these verdicts, to list or to put back."""
        return tuple([finding for finding in self.findings if finding.verdict in verdicts])

    def with_kept(self, index: int) -> Self:
        """Return the receipt after a fact was put back, by the index of its finding."""
        lost = self.findings[index]
        context = "" if lost.state == "changed" else lost.context
        kept = replace(lost, state="kept", context=context, denied=False)
        return type(self)((*self.findings[:index], kept, *self.findings[index + 1 :]))

    def with_sources(self, ids: Mapping[str, str]) -> Self:
        """Return the receipt for copies of the messages, by the ids of the originals."""
        known = [(one, ids.get(one.source, one.source)) for one in self.findings]
        return type(self)(tuple([replace(one, source=source) for one, source in known]))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the findings as plain data, to store with the condensation."""
        return [asdict(one) for one in self.findings]

    def to_api(self) -> list[dict[str, Any]]:
        """Return the findings in today's words, whenever they were stored."""
        return [asdict(one) | {"text": one.quote, "state": one.verdict} for one in self.findings]

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
    """Return the state of each fact of ``hidden`` for a model that reads ``kept`` instead.

    ``search`` is the model's own search in all messages that it does not see. ``on_disk`` returns
    True if a file still exists. A fact that neither of them can find is not recoverable.
    """
    # Kind by kind, each fact once, where it was said last.
    known = [*hidden, *([] if isinstance(kept, str) else kept)]
    told = dict(_facts(hidden, {use.name for message in known for use in message.tool_uses}))
    by_kind = [[fact for fact in told.values() if fact.kind == kind] for kind in KINDS]
    facts = [fact for alike in by_kind for fact in alike[-MOST_FACTS:]]
    shown = Shown(kept if isinstance(kept, str) else plain_text(kept))
    files, values = _files_of(kept), Values(hidden, kept)
    said = {message.id: message for message in hidden}

    @cache
    def text_of(id_: str) -> str:
        return " ".join(plain_text([said[id_].lasting]).split()) if id_ in said else ""

    found: list[Finding] = []
    for fact in facts:
        state = _state(fact, shown, files)
        if other := values.instead_of(_figures_of(fact)):
            found.append(replace(fact, state="changed", context=other))
            continue
        if state == "lost":
            first = [text_of(one.id) for one in search(fact.text, FIRST_RESULTS)] if search else []
            is_there = on_disk and fact.kind.endswith("_files") and on_disk(fact.text)
            wanted = " ".join((fact.text if fact.kind == "names" else fact.needle).split())
            if is_there or any(wanted in text for text in first):
                state = "recoverable"
        found.append(replace(fact, state=state))
    return Receipt(tuple(found))


def _figures_of(fact: Finding) -> Iterable[Quote]:
    """Return the figures in the user's words."""
    if fact.kind == "names":
        return [Quote(fact.text, fact.needle)]
    return quotes_in(fact.text) if fact.kind == "constraints" else ()


def _facts(
    hidden: Sequence[Message], tools: Container[str]
) -> Iterator[tuple[tuple[FactKind, str], Finding]]:
    """Yield the facts by their keys; names of tools are none."""
    notebook = Notebook()
    notebook.read(hidden)
    sources = notebook.sources

    def fact(kind: FactKind, text: str, needle: str, source: object, key: str = "") -> Any:
        return (kind, key or text), Finding(kind, text, needle, sources[source])

    for path, file in notebook.files.items():
        yield fact("edited_files" if file.edited else "read_files", path, path, path)
    for head in notebook.runs:
        if len(head) >= LEAST_CHARS and not is_lookup(head):
            yield fact("commands", head, head, head)
    for failure in notebook.failures:
        line = failure.message.removesuffix("…")
        yield fact("errors", line, line, failure.subject)
    for rule in notebook.rules:
        yield fact("constraints", rule, rule.rstrip(" .!。！"), rule)
    rules = "\n".join(notebook.rules)
    for request in notebook.requests:
        for said in quotes_in(request.text):
            if said.figure not in tools and said.text not in rules:
                yield fact("names", said.text, said.figure, request, said.key)


def _state(fact: Finding, shown: Shown, files: Mapping[str, FileUse]) -> FactState:
    """Return a fact's state in a text: kept, named or lost."""
    if fact.kind.endswith("_files"):
        known = files.get(fact.text)
        if known and (known.edited or fact.kind == "read_files"):
            return "kept"
        *folders, name = fact.text.rsplit("/", 2)
        if folders and shown.says(f"{folders[-1]}/{name}"):
            return "kept"
        return "named" if known or shown.says(name) else "lost"
    if shown.has(fact.needle if fact.kind != "names" else fact.text):
        return "kept"
    return _state_of_name(Quote(fact.text, fact.needle), shown) if fact.kind == "names" else "lost"


def _state_of_name(said: Quote, shown: Shown) -> FactState:
    around = said.terms
    for spelling in said.spellings:
        for at in islice(shown.places(spelling), MOST_PLACES):
            near = shown.text[max(0, at - NEAR_CHARS) : at + len(spelling) + NEAR_CHARS]
            if len(terms_in(around, near)) >= WORDS_KEPT * len(around):
                return "kept"
    return "named" if any(map(shown.says, said.spellings)) else "lost"


def _files_of(kept: Sequence[Message] | str) -> Mapping[str, FileUse]:
    """Return the files that ledgers and calls name, by their paths."""
    notebook = Notebook()
    if isinstance(kept, str):
        if ledger := parse_ledger(kept[max(0, kept.find(BEGINNINGS[0])) :]):
            notebook.carry(ledger)
    else:
        notebook.read(kept)
    return notebook.files


def _tally(findings: Iterable[Finding]) -> Tally:
    verdicts = [finding.verdict for finding in findings]
    return Tally(**{verdict: verdicts.count(verdict) for verdict in STATES})


@dataclass(frozen=True, slots=True)
class FocusFound:
    """The ``sentence`` that fits a focus best; it is ``kept`` if its figures are still read."""

    sentence: str
    kept: bool


def find_focus(focus: str, hidden: Sequence[Message], kept: Sequence[Message]) -> FocusFound | None:
    """Return the sentence that a focus asks for, None if no hidden message has one.

    Of sentences that fit alike, the one with most figures and names is meant. Without any, it is
    kept if the words that fit are.
    """
    terms = [one for one in terms_of(focus) if one.kind != "common"]
    said = sentences(plain_text([one for one in hidden if not one.is_summary]))
    fits = partial(terms_in, terms)
    found = max(said, key=lambda one: (len(fits(one)), len([*quotes_in(one)])), default="")
    if not (fitting := fits(found)):
        return None
    text, quotes = plain_text(kept), [*quotes_in(found)]
    shown = Shown(text)
    has_figures = all(any(map(shown.says, one.spellings)) for one in quotes)
    return FocusFound(found, has_figures if quotes else terms_in(fitting, text) == fitting)
