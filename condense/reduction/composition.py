"""Composition: the parts of a summary or marker, recognised by their beginnings."""

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise

from condense.facts.ledger import BEGINNINGS as LEDGERS
from condense.history.signed_blocks import without_compaction
from condense.history.tags import TRUNCATION_TEXT
from condense.messages import Message, TextBlock
from condense.prompts import load_prompt
from condense.reduction import carryover
from condense.reduction.strategy import HEADING, opening

LAYER = "## Part of the Summary, Merged {rank} Times\n"
_LAYER = re.compile(re.escape(LAYER).replace(r"\{rank\}", r"(\d+)"))


class PartKind(enum.StrEnum):
    """The kind of a part of a summary or a marker."""

    SUMMARY = "summary"
    LEDGER = "ledger"
    FILES = "files"
    WORKFLOWS = "workflows"
    REQUEST = "request"
    PINS = "pins"
    ENVIRONMENT = "environment"
    RECALLED = "recalled"


_BEGINNINGS = {
    f"{HEADING}\n": PartKind.SUMMARY,
    LAYER.partition("{")[0]: PartKind.SUMMARY,
    TRUNCATION_TEXT.partition("{")[0]: PartKind.SUMMARY,
    **dict.fromkeys(LEDGERS, PartKind.LEDGER),
    "<system-reminder>\n## File Context: ": PartKind.FILES,
    carryover.REMINDER: PartKind.WORKFLOWS,
    f"{carryover.REQUEST}\n": PartKind.REQUEST,
    f"{carryover.FIRST_MESSAGE_TITLE}\n": PartKind.REQUEST,
    f"{carryover.ANSWERED}\n": PartKind.REQUEST,
    carryover.PIN: PartKind.PINS,
    "<environment_details>": PartKind.ENVIRONMENT,
}
_PART = re.compile(r"\n\n(?=" + "|".join(map(re.escape, _BEGINNINGS)) + ")")
# Blocks with the surroundings and recalled passages; nothing in them can end them. After one
# without an end, all is taken for words: the end is searched once.
_BESIDE = re.compile(
    r"(?:\A|\n\n)(?:(<environment_details>\n.*?\n</environment_details>)(?=\n\n|\Z)"
    r"|(<recalled>\n.*?\n</recalled>)(?=\n\n|\Z)|(<(?:environment_details|recalled)>\n.*))",
    re.DOTALL,
)
# The beginnings of texts in a user's message that are by the engine or the application.
PUT_BACK = "From the part of this conversation that the summary replaces"
_MADE = ("Tool result:\n", "[Tool Result", "[Tool Use: ", "[Tool output cleared: ", PUT_BACK)
_TOLD = 60  # characters that tell a prompt
_FRAMES = ("aligned", "condense", "merge", "part", "range", "result")
# A quotation in one may seem to end it, so all up to the last end belongs to it.
_WRAPPERS = (
    "recalled", "environment_details", "system-reminder", "command", "file", "pinned_rule",
    "pinned_quote",
)  # fmt: skip
_WRAPPED = re.compile(
    rf"^[ \t]*<({'|'.join(_WRAPPERS)})(?=[ >]|-\d)(?:.*</\1[-\d]{{0,9}}>|.*\Z)",
    re.DOTALL | re.MULTILINE,
)
_KINDS = (None, PartKind.ENVIRONMENT, PartKind.RECALLED, None)


def part_kind(text: str) -> PartKind | None:
    """Return the kind of a part by its beginning, None for other text."""
    found = [kind for start, kind in _BEGINNINGS.items() if text.startswith(start)]
    if not found and text.startswith(load_prompt("summary_preface")):
        return PartKind.SUMMARY
    return found[0] if found else None


def split_parts(text: str) -> Iterator[tuple[PartKind, str]]:
    """Yield the parts of a summary or a marker that was sent as one text.

    There is none in a text that does not begin as a summary or a marker does.
    """
    if part_kind(text) is not PartKind.SUMMARY:
        return
    for part in _PART.split(text):
        yield part_kind(part) or PartKind.SUMMARY, part


def split_beside(text: str) -> Iterator[tuple[PartKind | None, str]]:
    """Yield the parts of a text with their kinds: surroundings, recalled passages, or words."""
    for kind, part in zip(cycle(_KINDS), _BESIDE.split(text), strict=False):
        if part and (said := part.strip("\n")):
            yield kind, said


def own_words(text: str) -> str:
    """Return the part of an unmarked user text that may be the user's own words."""
    # Everything that this engine or the application itself writes is left out.
    frames = [load_prompt(key).partition("{")[0][:_TOLD] for key in _FRAMES]
    made = part_kind(text) or text.startswith((*_MADE, *frames))
    return "" if made else _WRAPPED.sub("", text).strip()


@dataclass(frozen=True, slots=True)
class Layer:
    """The summary of one part; ``rank`` is the number of times it was merged with a neighbour."""

    rank: int
    text: str

    @property
    def block(self) -> TextBlock:
        """The layer as the model reads it."""
        return TextBlock(LAYER.format(rank=self.rank) + self.text)


def layers_in(messages: Iterable[Message]) -> Iterator[Layer]:
    """Yield the layers of earlier summaries, oldest first; one by another strategy is one layer."""
    for message in messages:
        if message.is_summary:
            blocks = without_compaction(message).blocks
            texts = [block.text for block in blocks if isinstance(block, TextBlock)]
            found = [(text, layer) for text in texts if (layer := _LAYER.match(text))]
            yield from (Layer(int(layer[1]), text[layer.end() :]) for text, layer in found)
            # A summary's own text, after the words with which each begins.
            said = "" if found or not texts else texts[0].removeprefix(opening().text).strip()
            if said:
                yield Layer(0, said)


def lowest_pair(layers: Sequence[Layer]) -> int:
    """Return the index of the neighbours with the lowest ranks, equal and older ones first."""
    ranks = [(one.rank, other.rank) for one, other in pairwise(layers)]
    return min(range(len(ranks)), key=lambda at: (max(ranks[at]), -min(ranks[at]), at))
