"""Rows of facts: the ledger of an agent's session, and the receipt of what that keeps."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import condense
from tests.bench.clock import beside
from tests.bench.table import Row
from tests.condense.sessions import Session, summary

MESSAGES = 5_000
SHOWN = 3_000  # characters of a file that a call reads; the recorded sessions' results have 1,500
# Lines that agents run, and what people and models say between the calls.
COMMANDS = (
    "make check 2>&1 | tail -20",
    "git add -A && git commit -m 'Fix it'",
    "grep -rn def src",
)
TALK = (
    ("Why does parser_core take 250 ms? Never touch the public API.", "It copies: that is 38 %."),
    ("Go on, but without new dependencies.", "Done. The branch is fix-4711, due 2026-10-12."),
)


def measure_facts(sources: list[Path]) -> Iterator[Row]:
    """Yield the row of a session that reads, edits and runs what is installed."""
    messages = _session(sources)
    stored = [json.dumps(message.to_api()) for message in messages]

    def note() -> None:
        kept = summary(*condense.ledger(messages))
        condense.receipt(messages, [kept])

    here, read = beside(note, lambda: [*map(json.loads, stored)])
    yield Row(
        f"ledger and receipt of {MESSAGES:,} messages", here, "ms", 25, "json.loads of them", read
    )


def _session(sources: list[Path]) -> list[condense.Message]:
    made = Session()
    for turn, path in enumerate(itertools.cycle(sources)):
        if len(made.messages) >= MESSAGES:
            return made.messages[:MESSAGES]
        asked, told = TALK[turn % len(TALK)]
        text = path.read_text("utf-8")[:SHOWN]
        made.says(asked).reads(str(path), text)
        lines = text.splitlines()
        changed = "\n".join(lines[:10]), "\n".join(lines[5:15])
        made.calls("Edit", file_path=str(path), old_string=changed[0], new_string=changed[1])
        made.runs(COMMANDS[turn % len(COMMANDS)], "\n".join(lines[:20])).replies(told)
    raise AssertionError("There are no sources.")
