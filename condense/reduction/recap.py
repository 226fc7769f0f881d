"""Recaps: a split of the history, a summary of its first part, and the message it becomes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from condense.budget.situation import Addition, Gauge, Reduction, Situation, Trigger
from condense.history.boundaries import unread_tail
from condense.messages import Block, Message, Tags, TextBlock
from condense.prompts import repair_instruction, summary_preface, update_instruction
from condense.reduction.carryover import (
    carried_pins,
    carry_first,
    carry_newest,
    repeated_directives,
    room_beside,
    tell_unread,
)
from condense.reduction.strategy import Kit, Strategy, make_reduction
from condense.summaries.writer import Writer, Written

HEADING = "## Conversation Summary"
# Kept free beside what stays: summaries measured on real sessions took 3.7 % of what they hid, and
# one with much to say about little takes more.
SUMMARY_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Split:
    """What to hide, what stays after the summary, and how much of either nobody has read.

    With ``keeps_first`` the summary carries the conversation's first message, word for word.
    """

    hidden: tuple[Message, ...]
    kept: tuple[Message, ...]
    unread: tuple[Message, ...]
    keeps_first: bool = False

    @property
    def keeps_unread(self) -> bool:
        """Whether the unread messages stay; else they are hidden before they were read."""
        return len(self.kept) >= len(self.unread)


def split_at(situation: Situation, gauge: Gauge, cuts: Sequence[int]) -> Split:
    """Return the split at the first of ``cuts``, or of the unread tail, whose rest has room.

    Below the limit any rest has; where not even the unread messages fit, everything is hidden.
    """
    effective, unread_from = situation.effective, unread_tail(situation.effective)
    unread = effective[unread_from:]
    pinned = gauge.weigh(carried_pins(situation, effective[:unread_from]))
    room = gauge.limit * (1 - SUMMARY_SHARE) - gauge.fixed - pinned
    for cut in (*cuts, unread_from):
        if not situation.is_over or gauge.size(effective[cut:]) <= room:
            return Split(effective[:cut], effective[cut:], unread)
    return Split(effective, (), unread)


def opening() -> str:
    """Return the words that every summary begins with."""
    return f"{HEADING}\n{summary_preface()}"


def with_written(
    made: Reduction, written: Written, prompt: str, kit: Kit, *, notes: Sequence[str] = ()
) -> Reduction:
    """Return a reduction with what a model wrote for it, what it was asked, and what that cost."""
    return replace(
        made,
        summary=written.summary,
        analysis=written.analysis,
        prompt=prompt,
        usage=kit.bill.usage,
        cost=kit.bill.cost,
        notes=(*written.notes, *notes),
    )


@dataclass(frozen=True, slots=True)
class Recap:
    """Has a summary written, and makes of it what the model reads instead of hidden messages."""

    situation: Situation
    split: Split
    gauge: Gauge
    kit: Kit

    @property
    def opening(self) -> str:
        """The words that it begins with."""
        return opening()

    @property
    def writer(self) -> Writer:
        """Who has a summary of this situation written, on the kit's bill."""
        return Writer(
            situation=self.situation,
            gauge=self.gauge,
            counter=self.kit.counter,
            summarizer=self.kit.summarizer,
            on_text=self.kit.on_text,
            bill=self.kit.bill,
        )

    def tags(self) -> Tags:
        """Return what marks it as standing for what is hidden, under a fresh id."""
        return Tags(condense_id=self.kit.new_id())

    def instruction(self, strategy: Strategy) -> str:
        """Return what the model is asked, where it updates a summary or repairs one, too."""
        prompt = strategy.prompt_for(self.situation)
        if any(message.is_summary for message in self.split.hidden):
            prompt = update_instruction(prompt)
        return repair_instruction(prompt, self.kit.lacking)

    async def summarise(self, strategy: Strategy) -> Reduction:
        """Return the reduction that hides messages behind a summary of them by the model."""
        prompt = self.instruction(strategy)
        written = await self.writer.write(self.split.hidden, prompt)
        return await self.reduction(strategy, written, prompt)

    async def reduction(
        self,
        strategy: Strategy,
        written: Written,
        prompt: str,
        layers: Sequence[TextBlock] = (),
        signed: tuple[Block, ...] = (),
    ) -> Reduction:
        """Return the reduction for what was written, or for the ``layers`` that it is one of.

        A ``signed`` block says it in its own words, and stands first.
        """
        said = await self.write("" if layers or signed else written.summary, (), layers, signed)
        made = self.make(strategy, said)
        return with_written(made, written, prompt, self.kit, notes=said.notes)

    def make(self, strategy: Strategy, said: Addition) -> Reduction:
        """Return the reduction in which these blocks stand for what is hidden."""
        hidden, tags = self.split.hidden, self.tags()
        return make_reduction(strategy, hidden, said.blocks, tags, gauge=self.gauge, kit=self.kit)

    async def write(
        self,
        summary: str,
        facts: tuple[TextBlock, ...] = (),
        layers: Sequence[TextBlock] = (),
        signed: tuple[Block, ...] = (),
    ) -> Addition:
        """Return the summary message's blocks, and notes for people.

        ``facts`` is a ledger, and ``layers`` are several summaries, in the summary's place; a
        ``signed`` block stands before all.
        """
        split, effective, counter = self.split, self.situation.effective, self.kit.counter
        said = (self.opening, summary)
        head = (*signed, TextBlock("\n\n".join(filter(None, said))), *layers, *facts)
        dropped = tell_unread(() if split.keeps_unread else split.unread, self.gauge)
        environment = Addition()
        if self.situation.environment and self.situation.trigger is not Trigger.MANUAL:
            try:
                details = await self.situation.environment()
                blocks = (TextBlock(details),) if details.strip() else ()
                environment = Addition(blocks=blocks)
            except Exception as error:  # noqa: BLE001 - a summary already paid for is worth more
                said_of = f"The environment's details are missing: {error}"
                environment = Addition(notes=(said_of,))
        directives = repeated_directives(self.situation, {message.id for message in split.kept})
        rest = (*directives, *dropped.blocks, *environment.blocks)
        first = carried = Addition()
        if split.keeps_first:
            # Half of the room is for the rest.
            room = room_beside(self.gauge, split.hidden, split.kept, (*head, *rest))
            first = carry_first(effective, room / 2, counter)
        if split.unread:
            # A summary may repeat the request by chance; only these name it as the user's.
            known, around = (*facts, *first.blocks), (*head, *first.blocks, *rest)
            room = room_beside(self.gauge, split.hidden, split.kept, around)
            carried = carry_newest(effective, split.hidden, known, room, counter)
        notes = (*dropped.notes, *first.notes, *carried.notes, *environment.notes)
        return Addition(blocks=(*head, *first.blocks, *carried.blocks, *rest), notes=notes)
