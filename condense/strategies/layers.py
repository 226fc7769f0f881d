"""Layers: a summary of the part since the last one, added to earlier ones as they are."""

from collections.abc import Sequence
from dataclasses import replace

from condense.budget.situation import Gauge, Reduction, Situation
from condense.errors import SummaryFailed
from condense.prompts import framed, repair_instruction
from condense.reduction.composition import Layer, layers_in, lowest_pair
from condense.reduction.strategy import ByModel, carrying_reduction, opening, split_at, with_written
from condense.sentences import noop
from condense.summaries.summarizer import Kit
from condense.summaries.writer import Writer

# With as many, each as long as summaries measured on real sessions, they take a fifth of the text
# that a full window hides; words of the first hour are written again three times in 32
# condensations.
MOST_LAYERS = 5
NOT_MERGED = noop("There are {count} parts of the summary: merging two of them failed. {error}")


class Layers(ByModel):
    """Hides everything before the unread messages; each summary is added to the earlier ones.

    No summary is summarised; if there are more than ``most``, the two of lowest rank are merged.
    """

    name = "layers"
    label = noop("stacked summaries")
    description = noop("older summaries are kept, until the oldest two merge")

    def __init__(self, most: int = MOST_LAYERS) -> None:
        self.most = most

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense before any call is made, and SummaryFailed after a failed one.
        """
        gauge = Gauge(situation, kit.counter)
        split = split_at(gauge)
        known = [message for message in split.hidden if message.is_summary]
        asking = self.prompt_for(situation)
        prompt = repair_instruction(framed("layer", asking) if known else asking, kit.lacking)
        writer = Writer(gauge, kit)
        written = await writer.write(split.hidden, prompt, known=known)
        stack = [*layers_in(known), Layer(0, written.summary)]
        layers, notes = await self._merged(stack, asking, writer)
        head = (opening(), *[layer.block for layer in layers])
        made = carrying_reduction(self, split, gauge, kit, head)
        noting = replace(written, notes=(*written.notes, *notes))
        return with_written(made, noting, prompt, kit)

    async def _merged(
        self, layers: Sequence[Layer], asking: str, writer: Writer
    ) -> tuple[Sequence[Layer], Sequence[str]]:
        """Return the layers, two of them merged if too many, and a note if that fails."""
        if len(layers) <= self.most:
            return layers, ()
        at = lowest_pair(layers)
        pair = layers[at : at + 2]
        try:
            merged = await writer.merge([layer.text for layer in pair], asking)
        except SummaryFailed as error:
            return layers, (NOT_MERGED.format(count=len(layers), error=error),)
        rank = 1 + max([layer.rank for layer in pair])
        return (*layers[:at], Layer(rank, merged.summary), *layers[at + 2 :]), ()
