"""Spend a budget of tokens on facts, by what each kind weighs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from condense.facts.excerpt import BRIEF, essence, shortened, tells
from condense.facts.ledger import Ledger, Request
from condense.facts.plain import estimate
from condense.facts.selection import Named, is_long_and_once, with_identifiers
from condense.facts.sentences import sentences, weight
from condense.facts.text import failure_line, render, request_lines, run_line, todo_line
from condense.tokens import TokenCounter

# What each kind of fact weighs: of a scarce budget it may fill this share before the others get
# their turn. What only the user can say again weighs most; what a look at the disk or another run
# tells weighs least.
WEIGHTS = {
    "requests": 0.4,
    "files": 0.2,
    "runs": 0.15,
    "statements": 0.1,
    "identifiers": 0.05,
    "failures": 0.05,
    "todos": 0.03,
    "names": 0.02,
}
# Of a budget that is scarce, what the first request may take, which is the last thing to go, and
# any other: so there is room for some of each kind.
FIRST, LONGEST = 0.15, 0.1
FRAME = 2  # tokens of a line beside what it says


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a ledger may say, and the tokens it takes."""

    kind: str
    value: Any
    tokens: float


def fit(
    ledger: Ledger, named: Named, budget: int, counter: TokenCounter, *, wanted: float
) -> Ledger:
    """Return the facts whose text takes ``budget`` tokens at most: all, or those that weigh most.

    Where they take more than is ``wanted``, requests are cut to the sentences that tell something,
    but for the first and the newest.
    """
    made = with_identifiers(ledger, named)
    tokens = counter.count(render(made))
    if tokens > min(budget, wanted):
        brief = BRIEF if tokens <= budget else max(BRIEF, LONGEST * budget)
        ledger = replace(ledger, requests=tuple(_essences(ledger.requests, brief)))
        made = with_identifiers(ledger, named)
        tokens = counter.count(render(made))
    if tokens <= budget:
        return made
    return _spent(ledger, named, budget, counter)


def _essences(requests: tuple[Request, ...], brief: float) -> Iterator[Request]:
    for place, request in enumerate(requests):
        stays = place in {0, len(requests) - 1} or estimate(request.text) <= brief
        yield request if stays else replace(request, text=essence(request.text))


def _spent(ledger: Ledger, named: Named, budget: int, counter: TokenCounter) -> Ledger:
    """Return what weighs most, as much as fits."""
    ledger = replace(ledger, requests=tuple(_shortened(ledger.requests, budget)))
    ranked = [*_ranked(ledger, named)]
    room: float = budget
    while room >= 1:
        made = _taken(ledger, ranked, room)
        tokens = counter.count(render(made))
        if tokens <= budget:
            return made
        # A twentieth less than the proportion: facts are not equally dense.
        room *= 0.95 * min(1, budget / tokens)
    return Ledger()


def _shortened(requests: tuple[Request, ...], budget: int) -> Iterator[Request]:
    for place, request in enumerate(requests):
        share = FIRST if place == len(requests) - 1 else LONGEST
        yield replace(request, text=shortened(request.text, budget * share))


def _ranked(ledger: Ledger, named: Named) -> Iterator[Fact]:
    """Yield the facts, first what weighs most for what it and those of its kind before it take."""
    kinds: dict[str, list[tuple[Any, str]]] = {
        "requests": [(one, request_lines(one)) for one in sorted(ledger.requests[:-1], key=_chats)],
        "statements": [(one, one) for one in sorted(ledger.statements, key=lambda s: -weight(s))],
        "files": [(one, "/".join(one.path.split("/")[-2:])) for one in ledger.files],
        "runs": [(one, run_line(one)) for one in sorted(ledger.runs, key=is_long_and_once)],
        "identifiers": [(one, one[0]) for one in named],
        "failures": [(one, failure_line(one)) for one in ledger.failures],
        "todos": [(one, todo_line(one)) for one in ledger.todos],
        "names": [(one, one) for one in ledger.names],
    }
    yield from (Fact("requests", one, estimate(one.text)) for one in ledger.requests[-1:])
    ranked = []
    for kind, facts in kinds.items():
        taken = 0.0
        for value, text in facts:
            fact = Fact(kind, value, estimate(text) + FRAME)
            taken += fact.tokens
            ranked.append((taken / WEIGHTS[kind], fact))
    yield from (fact for _, fact in sorted(ranked, key=lambda one: one[0]))


def _chats(request: Request) -> bool:
    return not any(map(tells, sentences(request.text)))


def _taken(ledger: Ledger, ranked: list[Fact], room: float) -> Ledger:
    """Return the ledger with the facts for which there is room, in the order they have in it."""
    kept: dict[str, set[Any]] = {kind: set() for kind in WEIGHTS}
    for place, fact in enumerate(ranked):
        if fact.tokens <= room:
            room -= fact.tokens
            kept[fact.kind].add(fact.value)
        elif place == 0 and isinstance(fact.value, Request):
            cut = shortened(fact.value.text, room)
            ledger = replace(
                ledger, requests=(*ledger.requests[:-1], replace(fact.value, text=cut))
            )
            kept[fact.kind].add(ledger.requests[-1])
            room = 0
    chosen: dict[str, Any] = {
        kind: tuple(one for one in getattr(ledger, kind) if one in kept[kind])
        for kind in WEIGHTS
        if kind != "identifiers"
    }
    named = [fact.value for fact in ranked if fact.kind == "identifiers"]
    named = [pair for pair in named if pair in kept["identifiers"]]
    return with_identifiers(replace(ledger, **chosen), named)
