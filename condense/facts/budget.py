"""Budget: the tokens of a ledger, shared out among the kinds of facts."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from condense.facts.calls import is_lookup
from condense.facts.ledger import Ledger, Request, Run
from condense.facts.markdown import render
from condense.facts.texts import GAP, estimate, shortened

# As much of each kind as was measured to be worth its room on recorded sessions: of a request so
# many tokens, of a longer one a part; names by what is hidden; of commands the newest that act and
# that look, and those that come again, short or repeated.
WHOLE, PART, MOST = 470, 0.4, 3_000  # tokens
NAMES, OF_NAMES = 0.0035, (180, 320)  # of what is hidden; tokens, at least and at most
ACTED, LOOKED, OLDER = 10, 4, 12  # commands
SHORT_RUN, SHORT_LOOK = 32, 20  # characters
FAILURES = 5
FRAME = 2  # tokens of a line beside what it says
BRIEF = 12  # tokens; a request is cut to no less
NEWEST, FIRST = 0.3, 0.2  # of the room for requests, where they do not all fit whole
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


def fit(ledger: Ledger, of_names: float, room: float, excess: Callable[[str], float]) -> Ledger:
    """Return the facts that are worth their room, in so many tokens or less.

    ``of_names`` is what names may take, and ``excess`` tells by which factor a text is too long.
    """
    while room >= 1:
        made = _share_out(ledger, of_names, room)
        factor = excess(render(made))
        if factor <= 1:
            return made
        room *= 0.95 / factor
    return Ledger()


def _share_out(ledger: Ledger, of_names: float, room: float) -> Ledger:
    requests = [_worth(one) for one in ledger.requests]
    runs, failures = [*_needed(ledger.runs)], ledger.failures[:FAILURES]
    facts = {"todos": ledger.todos, "files": ledger.files, "runs": runs, "failures": failures}
    needs = {kind: _cost(kind, some) for kind, some in facts.items()}
    needs |= {"requests": _cost("requests", requests), "names": of_names if ledger.names else 0}
    needs["last_reply"] = estimate(ledger.last_reply)
    # Where not all fits, any request may be cut, and the rules in it are not.
    needs["rules"] = _cost(
        "rules", _unsaid(ledger.rules, requests if sum(needs.values()) <= room else ())
    )
    rooms = _rooms(needs, room)
    requests = [*_cut(requests, rooms["requests"])]
    # Oldest first: what was kept once is kept again, and the newest requests stand here.
    rules = _first("rules", _unsaid(ledger.rules, requests)[::-1], rooms["rules"])[::-1]
    last = shortened(ledger.last_reply, max(BRIEF, rooms["last_reply"]))
    kept: dict[str, Any] = {kind: _first(kind, some, rooms[kind]) for kind, some in facts.items()}
    kept |= {"rules": rules, "requests": tuple(requests), "last_reply": last, "names": ()}
    made = replace(ledger, **kept)
    said = frozenset(_WORD.findall(f"{render(made)} {[file.path for file in made.files]}"))
    names = [name for name in ledger.names[: int(4 * of_names)] if name not in said]
    return replace(made, names=_first("names", names, rooms["names"]))


def _cost(kind: str, facts: Iterable[Any]) -> float:
    return sum(map(_COSTS[kind], facts))


def _worth(request: Request) -> Request:
    """Return as much of a request as is worth its room; one that was cut is not cut again."""
    if GAP in request.text:
        return request
    tokens = max(WHOLE, min(MOST, PART * estimate(request.text)))
    return replace(request, text=shortened(request.text, tokens))


def _needed(runs: Sequence[Run]) -> Iterator[Run]:
    """Yield the newest commands, and those older ones that are likely to run again."""
    acted = looked = older = 0
    for run in runs:
        looks = is_lookup(run.head)
        recent = looked < LOOKED if looks else acted < ACTED
        comes_again = run.times > 1 or len(run.head) <= (SHORT_LOOK if looks else SHORT_RUN)
        looked, acted = looked + looks, acted + (not looks)
        if recent or (comes_again and older < OLDER):
            older += not recent
            yield run


def _rooms(needs: Mapping[str, float], room: float) -> dict[str, float]:
    """Return the room of each kind: what it needs, or its share of what the others leave."""
    rooms: dict[str, float] = {}
    left = dict(needs)
    while left:
        unit = room / sum([WEIGHTS[kind] for kind in left])
        content = [kind for kind in left if left[kind] <= unit * WEIGHTS[kind]]
        if not content:
            return rooms | {kind: unit * WEIGHTS[kind] for kind in left}
        for kind in content:
            rooms[kind] = left.pop(kind)
            room -= rooms[kind]
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


def _cut(requests: Sequence[Request], room: float) -> Iterator[Request]:
    """Yield the requests in so much room: whole, or those in the middle cut to one length."""
    costs = [_COSTS["requests"](one) for one in requests]
    last = len(requests) - 1
    limits = {0: NEWEST * room if last else room, last: FIRST * room if last else room}
    limits = {at: min(limit, costs[at]) for at, limit in limits.items() if requests}
    left = room - sum(limits.values())
    if sum(costs) <= room + 1e-6:
        limits = dict(enumerate(costs))
    length = _length([cost for at, cost in enumerate(costs) if at not in limits], left)
    for at, request in enumerate(requests):
        limit = limits.get(at, length) - FRAME - estimate(request.to)
        cut = replace(request, text=shortened(request.text, max(1, limit)))
        cost = 0 if at in limits else _COSTS["requests"](cut)
        if cost <= left + 1e-6:
            left -= cost
            yield cut


def _length(costs: Sequence[float], room: float) -> float:
    """Return the length to which all are cut for them to fit, but no less than is worth it."""
    left = sorted(costs)
    for at, cost in enumerate(left):
        if cost * (len(left) - at) > room:
            return max(BRIEF, room / (len(left) - at))
        room -= cost
    return max(left, default=0)
