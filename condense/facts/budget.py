"""Budget: the tokens of a ledger, shared out among the kinds of facts."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from condense.facts.calls import is_lookup
from condense.facts.ledger import Ledger, Request, Run
from condense.facts.markdown import render
from condense.facts.texts import GAP, estimate, shortened

# As much of each kind as was measured to be worth its room on recorded sessions. A request has so
# many tokens for sure; a longer one takes what the others leave of its ledger's usual size.
WHOLE, PART = 450, 0.12
NAMES = 300  # tokens
ACTED, LOOKED, OLDER = 6, 3, 12  # commands: the newest that act and that look, and others
SHORT_RUN, SHORT_LOOK, OFTEN = 48, 12, 3  # characters, and times, of those that come again
FAILURES = 5
FRAME = 2  # tokens of a line beside what it says
BRIEF = 12  # tokens; a request is cut to no less
NEWEST, FIRST = 0.3, 0.2  # of the room for requests, where they do not all fit
# What each kind is sure of where not everything fits; what one does not need goes to the others.
WEIGHTS = {
    "rules": 0.2,
    "requests": 0.37,
    "todos": 0.05,
    "files": 0.12,
    "runs": 0.15,
    "failures": 0.03,
    "last_reply": 0.04,
    "names": 0.04,
}
_COSTS: Mapping[str, Callable[[Any], float]] = {
    "todos": lambda todo: estimate(todo.text) + 2 * FRAME,
    "files": lambda file: estimate("/".join(file.path.split("/")[-2:])),
    "runs": lambda run: estimate(run.head) + FRAME,
    "failures": lambda failure: estimate(failure.subject + failure.message) + FRAME,
    "requests": lambda request: estimate(request.text) + estimate(request.to) + FRAME,
    "rules": lambda rule: estimate(rule) + FRAME,
    "names": lambda name: estimate(name) + 1 / 4,
}
_WORD = re.compile(r"\w+")


def worth_keeping(ledger: Ledger, usual: float) -> Ledger:
    """Return the facts that are worth their room, in a ledger that usually has so many tokens."""
    runs = tuple(_needed(ledger.runs))
    made = replace(ledger, runs=runs, failures=ledger.failures[:FAILURES], names=())
    rest = usual - NAMES - estimate(render(replace(made, requests=())))
    requests = ledger.requests
    # What was cut once is not cut again.
    over = [0 if GAP in one.text else max(0, estimate(one.text) - WHOLE) for one in requests]
    rest -= sum([_COSTS["requests"](one) for one in requests]) - sum(over)
    rest = max(rest, PART * sum(over))
    gains = _shared(dict(enumerate(over)), dict.fromkeys(range(len(over)), 1), rest)
    cut = [
        replace(one, text=shortened(one.text, WHOLE + gains[at])) if over[at] else one
        for at, one in enumerate(requests)
    ]
    made = replace(made, requests=tuple(cut))
    said = frozenset(_WORD.findall(f"{render(made)} {[file.path for file in made.files]}"))
    names = [name for name in ledger.names[: 4 * NAMES] if name not in said]
    return replace(made, names=_first("names", names, NAMES))


def fit(ledger: Ledger, room: float, excess: Callable[[str], float]) -> Ledger:
    """Return as many of the facts as so many tokens hold.

    ``excess`` tells by which factor a text is too long.
    """
    while room >= 1:
        made = _within(ledger, room)
        factor = excess(render(made))
        if factor <= 1:
            return made
        room *= 0.95 / factor
    return Ledger()


def _within(ledger: Ledger, room: float) -> Ledger:
    unsaid = _unsaid(ledger.rules, ledger.requests)
    needs = {kind: _cost(kind, getattr(ledger, kind)) for kind in _COSTS}
    needs |= {"rules": _cost("rules", unsaid), "last_reply": estimate(ledger.last_reply)}
    if sum(needs.values()) <= room:
        return replace(ledger, rules=tuple(unsaid))
    # Any request may be cut, and the rules in it are not.
    rooms = _shared(needs | {"rules": _cost("rules", ledger.rules)}, WEIGHTS, room)
    kept: dict[str, Any] = {
        kind: _first(kind, getattr(ledger, kind), rooms[kind]) for kind in _COSTS
    }
    kept["requests"] = _cut(ledger.requests, rooms["requests"])
    # Oldest first: what was kept once is kept again, and the newest requests stand here.
    rules = _unsaid(ledger.rules, kept["requests"])[::-1]
    kept["rules"] = _first("rules", rules, rooms["rules"])[::-1]
    last_reply = shortened(ledger.last_reply, max(BRIEF, rooms["last_reply"]))
    return replace(ledger, **kept, last_reply=last_reply)


def _cost(kind: str, facts: Iterable[Any]) -> float:
    return sum(map(_COSTS[kind], facts))


def _needed(runs: Sequence[Run]) -> Iterator[Run]:
    """Yield the newest commands, and those older ones that are likely to run again."""
    acted = looked = older = 0
    for run in runs:
        looks = is_lookup(run.head)
        is_new = looked < LOOKED if looks else acted < ACTED
        comes_again = run.times >= OFTEN or len(run.head) <= (SHORT_LOOK if looks else SHORT_RUN)
        looked, acted = looked + looks, acted + (not looks)
        if is_new or (comes_again and older < OLDER):
            older += not is_new
            yield run


def _shared[Key: Hashable](
    needs: Mapping[Key, float], weights: Mapping[Key, float], room: float
) -> dict[Key, float]:
    """Return the room of each: what it needs, or by its weight a share of what the others leave."""
    rooms: dict[Key, float] = {}
    left = dict(needs)
    while left:
        unit = room / sum([weights[key] for key in left])
        content = [key for key in left if left[key] <= unit * weights[key]]
        if not content:
            return rooms | {key: unit * weights[key] for key in left}
        for key in content:
            rooms[key] = left.pop(key)
            room -= rooms[key]
    return rooms


def _first(kind: str, facts: Sequence[Any], room: float) -> tuple[Any, ...]:
    """Return those facts, in their order, for which there is room when their turn comes."""
    kept = []
    for fact in facts:
        cost = _COSTS[kind](fact)
        if cost <= room + 1e-6:
            room -= cost
            kept.append(fact)
    return tuple(kept)


def _unsaid(rules: Sequence[str], requests: Sequence[Request]) -> list[str]:
    """Return the rules that stand in none of the requests."""
    said = "\n".join([one.text for one in requests])
    return [rule for rule in rules if rule not in said]


def _cut(requests: Sequence[Request], room: float) -> tuple[Request, ...]:
    """Return the newest, the first, and as many between them as a few words each have room."""
    between = (1 - NEWEST - FIRST) * room
    requests = [*requests[:1], *requests[1:-1][: int(between / BRIEF)], *requests[1:][-1:]]
    weights = dict.fromkeys(range(len(requests)), between / max(1, len(requests) - 2))
    weights |= {len(requests) - 1: FIRST * room, 0: NEWEST * room}
    needs = {at: _COSTS["requests"](one) for at, one in enumerate(requests)}
    rooms = _shared(needs, weights, room)
    limits = [rooms[at] - FRAME - estimate(one.to) for at, one in enumerate(requests)]
    return tuple(
        [
            replace(one, text=shortened(one.text, max(1, limit + 1e-6)))
            for one, limit in zip(requests, limits, strict=True)
        ]
    )
