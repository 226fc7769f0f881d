"""Take a ledger's text apart again, exactly as :mod:`condense.notes.ledger_text` wrote it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from condense.messages import Message, TextBlock
from condense.notes.ledger import Failure, Ledger, Mark, Request, Run, Todo
from condense.notes.ledger_text import (
    ARROW,
    COUNTED_RUN,
    END,
    FAILURES,
    FILES,
    GAP,
    HEADING,
    IDENTIFIED,
    IDENTIFIERS,
    INSIDE,
    NAMES,
    REPLACED,
    REQUESTS,
    RUNS,
    STATEMENTS,
    TO,
    TODOS,
)
from condense.notes.paths import read_files

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
    texts = (block.text for block in message.blocks if isinstance(block, TextBlock))
    return next((found for text in texts if (found := parse_ledger(text))), None)


def _with_section(ledger: Ledger, lines: Sequence[str], fence: str) -> Ledger:
    title, *rest = lines
    # No fact is an empty line, and a hundred thousand of them would be as many objects.
    facts = [line for line in rest if line]
    if root := _ROOT.fullmatch(title):
        return replace(ledger, files=read_files(facts, root[1] or ""))
    if done := _DONE.fullmatch(title):
        return replace(ledger, todos=_read(facts, _todo), done=int(done[1]))
    title = IDENTIFIERS if title == _IN_CALLS else title
    read: dict[str, Callable[[], Ledger]] = {
        RUNS: lambda: replace(ledger, runs=tuple(map(_run, facts))),
        FAILURES: lambda: replace(ledger, failures=_read(facts, _failure)),
        STATEMENTS: lambda: replace(ledger, statements=tuple(facts)),
        IDENTIFIERS: lambda: replace(ledger, identifiers=tuple(" ".join(facts).split())),
        NAMES: lambda: replace(ledger, names=tuple(facts)),
        REQUESTS: lambda: replace(ledger, requests=_requests(rest, fence)),
    }
    return read[title]() if title in read else ledger


def _read[Fact](lines: Sequence[str], read_line: Callable[[str], Fact | None]) -> tuple[Fact, ...]:
    return tuple(fact for line in lines if (fact := read_line(line)) is not None)


def _run(line: str) -> Run:
    found = COUNTED_RUN.fullmatch(line)
    return Run(found[3], int(found[1]), _MARKS[found[2]]) if found else Run(line)


def _failure(line: str) -> Failure | None:
    subject, arrow, message = line.partition(ARROW)
    return Failure(subject, message) if arrow else None


def _todo(line: str) -> Todo | None:
    found = _TODO.fullmatch(line)
    return Todo(found[1], found[3], found[2] == "-") if found else None


def _requests(lines: Sequence[str], fence: str) -> tuple[Request, ...]:
    """Split at the bare fences; a fence with words below one tells of the request."""
    notes = (f"{fence}{TO}", f"{fence}{REPLACED}")
    starts = [
        index
        for index, line in enumerate(lines)
        if line.startswith(fence) and not line.startswith(notes)
    ]
    return tuple(
        _request(lines[start:end], fence) for start, end in pairwise((*starts, len(lines)))
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
