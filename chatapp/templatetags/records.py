"""Words of the record: the contents of hidden messages."""

import re
from typing import Any

from django import template

import condense
from chatapp.page.transcript.labels import strategy_name

register = template.Library()

register.filter("strategy", strategy_name)

LONGEST_RECORD_EXCERPT = 120  # characters of an excerpt
# Beginnings of a difference's lines that are no lines of a file.
_HEADS = ("--- ", "+++ ", "diff --git ", "index ")
# A place: how many lines of both sides follow, one where no number says so.
_PLACE = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", re.MULTILINE)
# The old side of a new file's difference.
_NOTHING = "--- /dev/null"
# Parts of a text that no person wrote.
_MACHINE = {condense.PartKind.LEDGER, condense.PartKind.ENVIRONMENT, condense.PartKind.RECALLED}


@register.filter
def difference(text: str) -> list[tuple[str, str]]:
    """Return lines, each with its kind: "file", "place", "added", "removed" or "same".

    Nobody approves what they can't see: a character that turns or hides the others is an escape.
    """
    kinds, before, after = {"+": "added", "-": "removed"}, 0, 0
    found = list[tuple[str, str]]()
    for line in condense.with_unseen(text).split("\n"):
        kind, is_inside = "same", before > 0 or after > 0
        # A removed line of "-- words" begins as a file's heading does: a place counts its lines.
        if is_inside and line[:1] != "\\":
            kind = kinds.get(line[:1], kind)
            before -= kind != "added"
            after -= kind != "removed"
        elif place := _PLACE.match(line):
            kind, (before, after) = "place", (int(one or 1) for one in place.groups())
        elif line.startswith(_HEADS):
            kind = "file"
        if is_inside or line not in {"", _NOTHING}:
            found.append((kind, line))
    return found


@register.filter
def new_lines(text: str) -> int | None:
    """Return the lines of the file that a difference creates, None if it changes one."""
    if not text.startswith(_NOTHING):
        return None
    # The lines themselves may be cut.
    place = _PLACE.search(text)
    return int(place[2] or 1) if place else 0


@register.filter
def excerpt(content: Any) -> str:
    """Return the beginning of a message's text, or the kind of its content."""
    line = " ".join(_words(content).split())
    return line if len(line) <= LONGEST_RECORD_EXCERPT else line[: LONGEST_RECORD_EXCERPT - 1] + "…"


def _words(content: Any) -> str:
    if isinstance(content, str):
        return "" if condense.part_kind(content) is condense.PartKind.LEDGER else content
    return " · ".join(filter(None, map(block_words, content)))


def block_words(block: Any) -> str:
    """Return a person's words in a block, else a file's or tool's name, else the block's type.

    Thinking, ledgers and surroundings have no words.
    """
    match block:
        case {"beside": {"kind": "environment" | "recalled" | "forgotten"}} | {
            "type": "thinking" | "redacted_thinking"
        }:
            return ""
        case {"beside": {"name": str(said)}} | {"text": str(), "user_words": str(said)} if said:
            return said
        case {"type": "tool_result", "content": [*parts]}:
            return " ".join(map(block_words, parts))
        case {"text": str(words)} | {"type": "tool_result", "content": str(words)}:
            return "" if condense.part_kind(words) in _MACHINE else words
        case {"name": str(name)} | {"type": str(name)}:
            return name
    return ""
