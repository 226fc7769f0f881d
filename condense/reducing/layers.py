"""Summaries of consecutive parts that stand beside each other in one message."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from condense.history.signed_blocks import without_compaction
from condense.messages import Message, TextBlock
from condense.reducing.recap import opening

HEADING = "## Part of the Summary, Merged {rank} Times\n"
_HEADING = re.compile(re.escape(HEADING).replace(r"\{rank\}", r"(\d+)"))


@dataclass(frozen=True, slots=True)
class Layer:
    """The summary of one part; ``rank`` is how often it was merged with its neighbour."""

    rank: int
    text: str

    @property
    def block(self) -> TextBlock:
        """What the model reads of it."""
        return TextBlock(HEADING.format(rank=self.rank) + self.text)


def layers_in(messages: Iterable[Message]) -> Iterator[Layer]:
    """Yield the layers of earlier summaries, oldest first; one by another strategy is one layer."""
    for message in messages:
        if message.is_summary:
            blocks = without_compaction(message).blocks
            texts = [block.text for block in blocks if isinstance(block, TextBlock)]
            yield from [*_layers(texts)] or _whole(texts)


def _layers(texts: Iterable[str]) -> Iterator[Layer]:
    for text in texts:
        if found := _HEADING.match(text):
            yield Layer(int(found[1]), text[found.end() :])


def _whole(texts: Sequence[str]) -> Iterator[Layer]:
    """Yield what a summary says after the words that each begins with."""
    if texts and (said := texts[0].removeprefix(opening()).strip()):
        yield Layer(0, said)


def lowest_pair(layers: Sequence[Layer]) -> int:
    """Return where the two neighbours of lowest rank stand, the oldest two of those.

    Neighbours of one rank come first, so that no words are written again more often than others.
    """

    def key(index: int) -> tuple[int, int, int]:
        ranks = layers[index].rank, layers[index + 1].rank
        return max(ranks), -min(ranks), index

    return min(range(len(layers) - 1), key=key)
