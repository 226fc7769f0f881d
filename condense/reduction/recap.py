"""Recaps: a split of the history, a summary of its first part, and the message it becomes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from condense.budget.situation import Addition, Gauge, Reduction
from condense.history.boundaries import require_enough, unread_tail
from condense.messages import Block, Message, Tags, TextBlock
from condense.prompts import framed, load_prompt, repair_instruction
from condense.reduction.carryover import (
    carried_pins,
    carry_first,
    carry_newest,
    repeated_directives,
    room_beside,
    tell_unread,
)
from condense.reduction.strategy import Strategy, make_reduction
from condense.summaries.summarizer import Kit
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


def split_at(gauge: Gauge, cuts: Sequence[int] = ()) -> Split:
    """Return the split at the first of ``cuts``, or of the unread tail, whose rest has room.

    Below the limit any rest has; where not even the unread messages fit, everything is hidden.
    Raises NothingToCondense where a summary of what is hidden would say nothing new.
    """
    situation, effective = gauge.situation, gauge.situation.effective
    unread_from = unread_tail(effective)
    unread, cuts = effective[unread_from:], (*cuts, unread_from)
    if situation.is_over:
        pinned = gauge.weigh(carried_pins(situation, effective[:unread_from]))
        room = gauge.limit * (1 - SUMMARY_SHARE) - gauge.fixed - pinned
        cuts = [cut for cut in cuts if gauge.size(effective[cut:]) <= room] or [len(effective)]
    require_enough(effective, effective[: cuts[0]])
    return Split(effective[: cuts[0]], effective[cuts[0] :], unread)


def opening(summary: str = "", preface: str = "summary_preface") -> TextBlock:
    """Return the block that every summary begins with: heading, preface and what is said."""
    return TextBlock(f"{HEADING}\n{load_prompt(preface)}" + (f"\n\n{summary}" if summary else ""))


def with_written(made: Reduction, written: Written, prompt: str, kit: Kit) -> Reduction:
    """Return a reduction with what a model wrote for it, what it was asked, and what that cost."""
    return replace(
        made,
        summary=written.summary,
        analysis=written.analysis,
        prompt=prompt,
        usage=kit.bill.usage,
        cost=kit.bill.cost,
        notes=(*written.notes, *made.notes),
    )


def instruction(strategy: Strategy, split: Split, gauge: Gauge, kit: Kit) -> str:
    """Return what the model is asked, where it updates a summary or repairs one, too."""
    prompt = strategy.prompt_for(gauge.situation)
    if [True for message in split.hidden if message.is_summary]:
        prompt = framed("update", prompt)
    return repair_instruction(prompt, kit.lacking)


async def summarise(strategy: Strategy, split: Split, gauge: Gauge, kit: Kit) -> Reduction:
    """Return the reduction that hides messages behind a summary of them by the model."""
    prompt = instruction(strategy, split, gauge, kit)
    written = await Writer(gauge, kit).write(split.hidden, prompt)
    made = stand_in(strategy, split, gauge, kit, (opening(written.summary),))
    return with_written(made, written, prompt, kit)


def stand_in(
    strategy: Strategy,
    split: Split,
    gauge: Gauge,
    kit: Kit,
    head: Sequence[Block],
    *,
    tags: Tags | None = None,
    facts: Sequence[Block] = (),
) -> Reduction:
    """Return the reduction in which ``head``, and what is carried over, stand for what is hidden.

    Of the ``head``, the ``facts`` name a request as the user's own.
    """
    situation, effective = gauge.situation, gauge.situation.effective
    tags = tags or Tags(condense_id=kit.new_id())
    # The unread messages stay, or are hidden before they were read.
    is_lost = len(split.kept) < len(split.unread)
    dropped = tell_unread(split.unread, gauge) if is_lost else Addition()
    directives = repeated_directives(situation, {message.id for message in split.kept})
    rest = (*directives, *dropped.blocks)
    first = carried = Addition()
    if split.keeps_first:
        # Half of the room is for the rest.
        room = room_beside(gauge, split.hidden, split.kept, (*head, *rest))
        first = carry_first(effective, room / 2, kit.counter)
    if split.unread:
        # A summary may repeat the request by chance; only these name it as the user's.
        known, around = (*facts, *first.blocks), (*head, *first.blocks, *rest)
        room = room_beside(gauge, split.hidden, split.kept, around)
        carried = carry_newest(effective, split.hidden, known, room, kit.counter)
    blocks = (*head, *first.blocks, *carried.blocks, *rest)
    made = make_reduction(strategy, split.hidden, blocks, tags, gauge=gauge, kit=kit)
    return replace(made, notes=(*dropped.notes, *first.notes, *carried.notes))
