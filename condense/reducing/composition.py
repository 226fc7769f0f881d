"""What the message that stands for hidden ones is made of, told by how each part begins."""

import enum
import re
from collections.abc import Iterator

from condense.facts.text import HEADING as LEDGER
from condense.history import TRUNCATION_TEXT
from condense.prompts import summary_preface
from condense.reducing import carrying, layers, pinned, recap


class PartKind(enum.StrEnum):
    """What a part of a summary or a marker is."""

    SUMMARY = "summary"
    LEDGER = "ledger"
    FILES = "files"
    WORKFLOWS = "workflows"
    REQUEST = "request"
    PINS = "pins"
    ENVIRONMENT = "environment"


_REMINDER = "<system-reminder>\n"
_BEGINNINGS = {
    f"{recap.HEADING}\n": PartKind.SUMMARY,
    layers.HEADING.partition("{")[0]: PartKind.SUMMARY,
    TRUNCATION_TEXT.partition("{")[0]: PartKind.SUMMARY,
    f"{LEDGER} ~": PartKind.LEDGER,
    f"{_REMINDER}## File Context: ": PartKind.FILES,
    f"{_REMINDER}## Active Workflows\n": PartKind.WORKFLOWS,
    f"{carrying.HEADING}\n": PartKind.REQUEST,
    f"{carrying.FIRST}\n": PartKind.REQUEST,
    f"{carrying.ANSWERED}\n": PartKind.REQUEST,
    pinned.HEADING: PartKind.PINS,
    "<environment_details>": PartKind.ENVIRONMENT,
}
_PART = re.compile(r"\n\n(?=" + "|".join(map(re.escape, _BEGINNINGS)) + ")")


def part_kind(text: str) -> PartKind | None:
    """Return what a part is that begins like this, None for words of anybody else."""
    if text.startswith(summary_preface()):
        return PartKind.SUMMARY
    found = (kind for start, kind in _BEGINNINGS.items() if text.startswith(start))
    return next(found, None)


def split_parts(text: str) -> Iterator[tuple[PartKind, str]]:
    """Yield the parts of a summary or a marker that was sent as one text.

    There is none in a text that does not begin as a summary or a marker does.
    """
    if part_kind(text) is not PartKind.SUMMARY:
        return
    for part in _PART.split(text):
        yield part_kind(part) or PartKind.SUMMARY, part
