"""A ledger as text that a model can read and :mod:`condense.facts.reading` can take apart.

Every section and every request begins at a fence: a line of tildes, longer than any that begins a
line of a fact. So no fact can end the ledger or open a section. A section's title tells how its
lines are to be read.
"""

import re
from collections.abc import Iterator

from condense.facts.ledger import Failure, Ledger, Request, Run, Todo
from condense.facts.tree import common_root, file_lines

HEADING = "## Ledger"
INTRO = "Copied from hidden messages, newest first."
FENCE = "~"
FILES, INSIDE = "files, edits/reads", ", in "
RUNS = "commands, times (!failed ?unknown)"
FAILURES = "errors"
TODOS = "to do, {} done"
NAMES = "named by the user"
REQUESTS = "user messages"
END = "end"
ARROW = " ⇒ "
COUNTED_RUN = re.compile(r"(\d{1,12})([!?]?) (.*)")
_LEADING_TILDES = re.compile(r"^~+", re.MULTILINE)


def render(ledger: Ledger) -> str:
    """Return the text of a ledger, empty where there is nothing to say."""
    if ledger == Ledger():
        return ""
    fence = _fence(ledger)
    lines = [f"{HEADING} {fence}", INTRO]
    for title, section in _sections(ledger, fence):
        lines += (f"{fence} {title}", *section)
    return "\n".join((*lines, f"{fence} {END}"))


def _sections(ledger: Ledger, fence: str) -> Iterator[tuple[str, list[str]]]:
    if ledger.files:
        root = common_root(file.path for file in ledger.files)
        yield f"{FILES}{INSIDE if root else ''}{root}", [*file_lines(ledger.files, root)]
    if ledger.runs:
        yield RUNS, [run_line(run) for run in ledger.runs]
    if ledger.failures:
        yield FAILURES, [failure_line(failure) for failure in ledger.failures]
    if ledger.todos or ledger.done:
        yield TODOS.format(ledger.done), [todo_line(todo) for todo in ledger.todos]
    if ledger.names:
        yield NAMES, list(ledger.names)
    if ledger.requests:
        yield REQUESTS, [request_lines(request, fence) for request in ledger.requests]


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
    """Return the fence, with the number of characters left out, and the request below it."""
    more = f"+{request.more} characters" if request.more else ""
    return f"{fence}{more}\n{request.text}"


def _fence(ledger: Ledger) -> str:
    """Return more tildes than any line of a fact begins with."""
    texts = [*(request.text for request in ledger.requests), *ledger.names]
    texts += [*map(run_line, ledger.runs), *(file.path for file in ledger.files)]
    texts += [*map(failure_line, ledger.failures), *map(todo_line, ledger.todos)]
    runs = (len(run) for text in texts for run in _LEADING_TILDES.findall(text))
    return "~" * max(len(FENCE), 1 + max(runs, default=0))
