"""A ledger as text that a model can read and :mod:`condense.notes.ledger_parser` can take apart.

Every section and every request begins at a fence: a line of tildes, longer than any that begins a
line of a fact. So no fact can end the ledger or open a section. A section's title tells how its
lines are to be read.
"""

import itertools
import re
from collections.abc import Iterable, Iterator

from condense.notes.ledger import Failure, Ledger, Request, Run, Todo
from condense.notes.paths import common_root, file_lines

HEADING = "## Ledger"
INTRO = "Copied from hidden messages, newest first."
FENCE = "~"
FILES, IDENTIFIED, INSIDE = "files, edits/reads", ", identifiers", ", in "
RUNS = "commands, times (!failed ?unknown)"
FAILURES = "errors"
TODOS = "to do, {} done"
STATEMENTS = "stated in replies"
IDENTIFIERS = "identifiers elsewhere"
NAMES = "named by the user"
REQUESTS = "user messages"
TO, REPLACED = "re: ", "replaced by: "  # below the fence of a request
GAP = "[…]"  # stands where words of a request are left out
END = "end"
ARROW = " ⇒ "
COUNTED_RUN = re.compile(r"(\d{1,12})([!?]?) (.*)")
_LEADING_TILDES = re.compile(r"^~+", re.MULTILINE)


def render(ledger: Ledger) -> str:
    """Return the text of a ledger, empty where there is nothing to say."""
    if ledger == Ledger():
        return ""
    sections = [*_sections(ledger)]
    requests = ledger.requests
    lines = itertools.chain.from_iterable(lines for _, lines in sections)
    fence = _fence(itertools.chain(lines, (request.text for request in requests)))
    if requests:
        sections.append((REQUESTS, [request_lines(request, fence) for request in requests]))
    parts = [f"{HEADING} {fence}", INTRO]
    for title, told in sections:
        parts += (f"{fence} {title}", *told)
    return "\n".join((*parts, f"{fence} {END}"))


def _sections(ledger: Ledger) -> Iterator[tuple[str, list[str]]]:
    if ledger.files:
        root = common_root(file.path for file in ledger.files)
        identified = IDENTIFIED if any(file.names for file in ledger.files) else ""
        title = f"{FILES}{identified}{INSIDE if root else ''}{root}"
        yield title, [*file_lines(ledger.files, root)]
    if ledger.runs:
        yield RUNS, [run_line(run) for run in ledger.runs]
    if ledger.failures:
        yield FAILURES, [failure_line(failure) for failure in ledger.failures]
    if ledger.todos or ledger.done:
        yield TODOS.format(ledger.done), [todo_line(todo) for todo in ledger.todos]
    if ledger.statements:
        yield STATEMENTS, list(ledger.statements)
    if ledger.identifiers:
        yield IDENTIFIERS, [" ".join(ledger.identifiers)]
    if ledger.names:
        yield NAMES, list(ledger.names)


def run_line(run: Run) -> str:
    """Return how often the command ran, whether it failed last, and its head.

    One that ran once and well needs neither.
    """
    if (run.times, run.mark) == (1, "") and not COUNTED_RUN.fullmatch(run.head):
        return run.head
    return f"{run.times}{run.mark} {run.head}"


def failure_line(failure: Failure) -> str:
    """Return what failed and what it said."""
    return f"{failure.subject}{ARROW}{failure.message}"


def todo_line(todo: Todo) -> str:
    """Return a checkbox with the item's id before it."""
    return f"{todo.id} [{'-' if todo.active else ' '}] {todo.text}"


def request_lines(request: Request, fence: str = FENCE) -> str:
    """Return the fence, what the request answers and what replaces it, and its words below."""
    notes = ((TO, request.to), (REPLACED, request.replaced))
    head = [fence, *(f"{fence}{label}{note}" for label, note in notes if note)]
    return "\n".join((*head, request.text))


def _fence(lines: Iterable[str]) -> str:
    """Return more tildes than any of the lines begins with."""
    runs = (len(run) for line in lines for run in _LEADING_TILDES.findall(line))
    return "~" * max(len(FENCE), 1 + max(runs, default=0))
