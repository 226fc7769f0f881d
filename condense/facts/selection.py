"""Choose the facts that are worth their room."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from condense.facts.identifiers import MOST, Identifiers
from condense.facts.ledger import Ledger, Run
from condense.facts.shell import is_lookup
from condense.facts.text import render

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
    files = (replace(file, names=tuple(by_file.get(file.path, ()))) for file in ledger.files)
    return replace(ledger, files=tuple(files), identifiers=tuple(by_file.get("", ())))
