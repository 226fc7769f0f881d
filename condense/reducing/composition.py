"""What the message that stands for hidden ones is made of, told by how each part begins."""

import enum
import re
from collections.abc import Iterator

from condense.facts.text import HEADING as LEDGER
from condense.history import TRUNCATION_TEXT
from condense.history.commands import REMINDER
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


_BEGINNINGS = {
    f"{recap.HEADING}\n": PartKind.SUMMARY,
    layers.HEADING.partition("{")[0]: PartKind.SUMMARY,
    TRUNCATION_TEXT.partition("{")[0]: PartKind.SUMMARY,
    f"{LEDGER} ~": PartKind.LEDGER,
    "<system-reminder>\n## File Context: ": PartKind.FILES,
    REMINDER: PartKind.WORKFLOWS,
    f"{carrying.HEADING}\n": PartKind.REQUEST,
    f"{carrying.FIRST}\n": PartKind.REQUEST,
    f"{carrying.ANSWERED}\n": PartKind.REQUEST,
    pinned.HEADING: PartKind.PINS,
    "<environment_details>": PartKind.ENVIRONMENT,
}
_PART = re.compile(r"\n\n(?=" + "|".join(map(re.escape, _BEGINNINGS)) + ")")
# What is told of the world beside somebody's words; nothing in it can end it.
_BESIDE = re.compile(
    r"(?:\A|\n\n)(<environment_details>\n.*?\n</environment_details>)(?=\n\n|\Z)", re.DOTALL
)


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


def split_beside(text: str) -> Iterator[tuple[PartKind | None, str]]:
    """Yield what somebody wrote, and what was put beside it, of what was sent as one text."""
    for index, part in enumerate(_BESIDE.split(text)):
        if said := part.strip("\n"):
            yield PartKind.ENVIRONMENT if index % 2 else None, said
