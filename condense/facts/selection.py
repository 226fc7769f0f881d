"""Choose the facts that are worth their room."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from condense.facts.ledger import FileUse, Ledger, Run
from condense.facts.shell import is_lookup
from condense.facts.text import (
    failure_line,
    render,
    request_lines,
    run_line,
    todo_line,
)
from condense.tokens import TokenCounter

# What share of a scarce budget each kind of fact may fill before the others get their turn.
SHARES = {
    "requests": 0.45,
    "files": 0.2,
    "runs": 0.15,
    "failures": 0.1,
    "todos": 0.05,
    "names": 0.05,
}


def _file_line(file: FileUse) -> str:
    return f"{file.edits}/{file.reads} {file.path}"


_LINES: dict[str, Callable[[Any], str]] = {
    "requests": request_lines,
    "files": _file_line,
    "runs": run_line,
    "failures": failure_line,
    "todos": todo_line,
    "names": str,
}
# Measured at 2,000 cuts through recorded sessions: of commands with a short head every sixth runs
# again, however old they are; of long ones every fourth that was repeated, every tenth that ran
# lately, hardly any other. Long ones that only look something up are done with after a few others.
ACTED_LATELY, LOOKED_LATELY, LOOKED_SHORTLY_LATELY = 16, 6, 40  # commands
SHORT_HEAD = 32  # characters
# Other commands fill a ledger up to this share of the hidden text. Where everything else leaves
# them less than ``LEAST`` of it, the ledger is not small without them either: then it gets enough
# of them, some 400 tokens, to know what ran.
FILL, LEAST, ENOUGH = 0.0102, 200, 1_500  # the latter two in characters
MAX_FAILURES = 5
MAX_NAMES = 6


def choose(ledger: Ledger, hidden_size: int) -> Ledger:
    """Return the ledger without what can be left out; ``hidden_size`` is in characters."""
    needed = tuple(run for place, run in enumerate(ledger.runs) if _runs_again(place, run))
    chosen = replace(ledger, runs=needed, failures=ledger.failures[:MAX_FAILURES], names=())
    visible = "\n".join((render(chosen), *(file.path for file in ledger.files)))
    names = [name for name in ledger.names if name not in visible]
    chosen = replace(chosen, names=tuple(names[:MAX_NAMES]))
    left = hidden_size * FILL - len(render(replace(chosen, runs=())))
    room = left if left >= LEAST else ENOUGH
    return replace(chosen, runs=tuple(_filled(ledger.runs, needed, room)))


def _runs_again(place: int, run: Run) -> bool:
    is_short = len(run.head) <= SHORT_HEAD
    if is_lookup(run.head):
        return place < (LOOKED_SHORTLY_LATELY if is_short else LOOKED_LATELY)
    return is_short or run.times > 1 or place < ACTED_LATELY


def _filled(runs: tuple[Run, ...], needed: tuple[Run, ...], room: float) -> Iterator[Run]:
    """Yield the needed commands, and the newest others for which they leave room."""
    kept = frozenset(needed)
    room -= sum(map(_room_of, needed))
    for run in runs:
        if run not in kept:
            if _room_of(run) > room:
                continue
            room -= _room_of(run)
        yield run


def _room_of(run: Run) -> int:
    return len(run_line(run)) + 1


def fit(ledger: Ledger, budget: int, counter: TokenCounter) -> Ledger:
    """Return the newest facts of each kind whose text takes ``budget`` tokens at most."""
    facts = sorted(_costs(ledger, counter), key=lambda fact: fact[0])
    count = len(facts)
    while count >= 0:
        fitting = _taken(ledger, facts[:count])
        tokens = counter.count(render(fitting))
        if tokens <= budget:
            return fitting
        count = min(count - 1, math.floor(count * (0.5 + 0.5 * budget / tokens)))
    return Ledger()


def _costs(ledger: Ledger, counter: TokenCounter) -> Iterator[tuple[float, str, Any]]:
    """Yield each fact with what its kind takes up to here, in proportion to its share."""
    for kind, share in SHARES.items():
        taken = 0.0
        for fact in getattr(ledger, kind):
            taken += (counter.count(_LINES[kind](fact)) + 1) / share
            yield taken, kind, fact


def _taken(ledger: Ledger, facts: list[tuple[float, str, Any]]) -> Ledger:
    kinds: dict[str, list[Any]] = {kind: [] for kind in SHARES}
    for _, kind, fact in facts:
        kinds[kind].append(fact)
    chosen: dict[str, Any] = {kind: tuple(taken) for kind, taken in kinds.items()}
    return replace(ledger, **chosen)
