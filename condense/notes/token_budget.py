"""Token budget: tokens spent on facts, by what each kind weighs."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from condense.notes.identifiers import MOST, Identifiers
from condense.notes.ledger import Ledger, Request, Run
from condense.notes.ledger_text import failure_line, render, request_lines, run_line, todo_line
from condense.notes.sentences import estimate, sentences, weight
from condense.notes.tool_calls import is_lookup
from condense.notes.user_words import BRIEF, essence, shortened, tells
from condense.tokens.counters import TokenCounter

# Of the commands that recorded sessions ran again, 96.5 % are among the last 35. Those that only
# look something up are done with sooner; as for results, the last ten matter. What is as short as
# ``make test``, or ran more than once, comes again however old it is.
ACTED, LOOKED, OLDER = 35, 10, 35  # commands
SHORT_HEAD = 32  # characters
_WORD = re.compile(r"\w+")
MAX_FAILURES = 5
MAX_NAMES = 6
Named = Sequence[tuple[str, str]]  # identifiers, weightiest first, each with its file or ""


def choose(ledger: Ledger, identifiers: Identifiers) -> tuple[Ledger, Named]:
    """Return the ledger without what can be left out, and the identifiers to stand in it."""
    runs = tuple(_needed(ledger.runs))
    chosen = replace(ledger, runs=runs, failures=ledger.failures[:MAX_FAILURES], names=())
    visible = "\n".join((render(chosen), *(file.path for file in ledger.files)))
    names = [name for name in ledger.names if name not in visible]
    words = frozenset(_WORD.findall(visible))
    unseen = (pair for pair in identifiers.weightiest() if pair[0] not in words)
    named = tuple(itertools.islice(unseen, MOST))
    return replace(chosen, names=tuple(names[:MAX_NAMES])), named


def _needed(runs: tuple[Run, ...]) -> Iterator[Run]:
    """Yield the newest commands, and those older ones that are likely to run again."""
    acted = looked = older = 0
    for run in runs:
        looks, is_short = is_lookup(run.head), len(run.head) <= SHORT_HEAD
        recent = looked < LOOKED if looks and not is_short else acted + looked < ACTED
        comes_again = not looks and not is_long_and_once(run) and older < OLDER
        looked, acted = looked + looks, acted + (not looks)
        if recent or comes_again:
            older += not recent
            yield run


def is_long_and_once(run: Run) -> bool:
    """Whether a command is of the kind that hardly ever comes again."""
    return len(run.head) > SHORT_HEAD and run.times == 1


def with_identifiers(ledger: Ledger, named: Named) -> Ledger:
    """Return the ledger with identifiers beside their files; those without one stand alone."""
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    known = {file.path for file in ledger.files}
    for name, path in named:
        by_file[path if path in known else ""].append(name)
    files = [replace(file, names=tuple(by_file.get(file.path, ()))) for file in ledger.files]
    return replace(ledger, files=tuple(files), identifiers=tuple(by_file.get("", ())))


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
        # But for the newest and the first, which stand at the ends.
        inner = [
            replace(one, text=essence(one.text)) if estimate(one.text) > brief else one
            for one in ledger.requests[1:-1]
        ]
        ends = ledger.requests[:1], ledger.requests[1:][-1:]
        ledger = replace(ledger, requests=(*ends[0], *inner, *ends[1]))
        made = with_identifiers(ledger, named)
        tokens = counter.count(render(made))
    if tokens <= budget:
        return made
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
    for place, request in enumerate(requests, start=1):
        share = FIRST if place == len(requests) else LONGEST
        yield replace(request, text=shortened(request.text, budget * share))


def _ranked(ledger: Ledger, named: Named) -> Iterator[Fact]:
    """Yield the facts, first what weighs most for what it and those of its kind before it take."""
    chats = {one: not any(map(tells, sentences(one.text))) for one in ledger.requests[:-1]}
    kinds: dict[str, list[tuple[Any, str]]] = {
        "requests": [(one, request_lines(one)) for one in sorted(chats, key=chats.__getitem__)],
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
        kind: tuple([one for one in getattr(ledger, kind) if one in kept[kind]])
        for kind in WEIGHTS
        if kind != "identifiers"
    }
    named = [fact.value for fact in ranked if fact.kind == "identifiers"]
    named = [pair for pair in named if pair in kept["identifiers"]]
    return with_identifiers(replace(ledger, **chosen), named)
