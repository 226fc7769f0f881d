"""Ledgers as text: written for a model to read, and taken apart again exactly as written.

Every section and every request begins at a fence: a line of tildes, longer than any that begins a
line of a fact. So no fact can end the ledger or open a section. A section's title tells how its
lines are to be read.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from condense.messages import Message, TextBlock
from condense.notes.ledger import Failure, Ledger, Mark, Request, Run, Todo
from condense.notes.paths import common_root, file_lines, read_files

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
        root = common_root([file.path for file in ledger.files])
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
    runs = [len(run) for line in lines for run in _LEADING_TILDES.findall(line)]
    return "~" * max(len(FENCE), 1 + max(runs, default=0))


_HEAD = re.compile(rf"{re.escape(HEADING)} (~+)\n")
_TODO = re.compile(r"(\S*) \[([ -])\] (.*)")
# Ledgers written before the gap was marked said so above the request.
_MORE = re.compile(r"\+\d{1,12} characters")
_IN_CALLS = "identifiers in other calls"  # the title when replies were not read for them
_DONE = re.compile(TODOS.format(r"(\d{1,12})"))
_ROOT = re.compile(rf"{FILES}(?:{IDENTIFIED})?(?:{INSIDE}(.*))?")
_MARKS: dict[str, Mark] = {"": "", "!": "!", "?": "?"}


def parse_ledger(text: str) -> Ledger | None:
    """Return the ledger that the text begins with, None where it begins with none.

    Only a whole ledger counts: one that was cut off, or quoted within other text, is none.
    """
    head = _HEAD.match(text)
    if head is None:
        return None
    fence = head[1]
    body, closed, _ = f"{text}\n".partition(f"\n{fence} {END}\n")
    if not closed:
        return None
    ledger = Ledger()
    for section in body.split(f"\n{fence} "):
        ledger = _with_section(ledger, section.split("\n"), fence)
    return ledger


def ledger_of(message: Message) -> Ledger | None:
    """Return the ledger that a summary or a marker carries; what anyone else writes is none."""
    if not (message.is_summary or message.is_marker):
        return None
    for block in message.blocks:
        if isinstance(block, TextBlock) and (found := parse_ledger(block.text)):
            return found
    return None


def _with_section(ledger: Ledger, lines: Sequence[str], fence: str) -> Ledger:
    title, *rest = lines
    # No fact is an empty line, and a hundred thousand of them would be as many objects.
    facts = [line for line in rest if line]
    if root := _ROOT.fullmatch(title):
        return replace(ledger, files=read_files(facts, root[1] or ""))
    if done := _DONE.fullmatch(title):
        found = [todo for line in facts if (todo := _TODO.fullmatch(line))]
        todos = tuple([Todo(one[1], one[3], one[2] == "-") for one in found])
        return replace(ledger, todos=todos, done=int(done[1]))
    if title == RUNS:
        ledger = replace(ledger, runs=tuple(map(_run, facts)))
    elif title == FAILURES:
        told = [line.split(ARROW, 1) for line in facts if ARROW in line]
        ledger = replace(ledger, failures=tuple([Failure(*one) for one in told]))
    elif title == STATEMENTS:
        ledger = replace(ledger, statements=tuple(facts))
    elif title in {IDENTIFIERS, _IN_CALLS}:
        ledger = replace(ledger, identifiers=tuple(" ".join(facts).split()))
    elif title == NAMES:
        ledger = replace(ledger, names=tuple(facts))
    elif title == REQUESTS:
        ledger = replace(ledger, requests=_requests(rest, fence))
    return ledger


def _run(line: str) -> Run:
    found = COUNTED_RUN.fullmatch(line)
    return Run(found[3], int(found[1]), _MARKS[found[2]]) if found else Run(line)


def _requests(lines: Sequence[str], fence: str) -> tuple[Request, ...]:
    """Split at the bare fences; a fence with words below one tells of the request."""
    notes = (f"{fence}{TO}", f"{fence}{REPLACED}")
    starts = [
        index
        for index, line in enumerate(lines)
        if line.startswith(fence) and not line.startswith(notes)
    ]
    return tuple(
        [_request(lines[start:end], fence) for start, end in pairwise((*starts, len(lines)))]
    )


def _request(lines: Sequence[str], fence: str) -> Request:
    notes = {TO: "", REPLACED: ""}
    words = []
    for line in lines[1:]:
        if line.startswith(fence):
            label = TO if line.startswith(TO, len(fence)) else REPLACED
            notes[label] = line[len(fence) + len(label) :]
        else:
            words.append(line)
    if _MORE.fullmatch(lines[0], len(fence)):
        words.append(GAP)
    return Request("\n".join(words), notes[TO], notes[REPLACED])
