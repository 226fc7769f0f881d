"""Strategies: the protocol that the condenser calls, and the shared steps of a reduction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from condense.budget.situation import Addition, Gauge, Kind, Reduction, Situation
from condense.history.boundaries import require_enough, unread_tail
from condense.messages import Block, Content, Message, Tags, TextBlock
from condense.prices import Usage
from condense.prompts import condense_instruction, framed, load_prompt, repair_instruction
from condense.reduction import carryover
from condense.summaries.summarizer import Kit, Summarizer, budget_of
from condense.summaries.writer import Writer, WrittenSummary
from condense.tokens.counters import TokenCounter

HEADING = "## Conversation Summary"
# Kept free for the summary: summaries measured on real sessions took 3.7 % of the text they hid,
# and one with much to say about little takes more.
SUMMARY_SHARE = 0.1
# Summaries of real sessions took 3.7 % of the text they hid; a token is three quarters of a word.
LENGTH, WORDS = 0.04, 0.75
FEWEST_WORDS = 150  # so that every section has a line or two
# An analysis comes before the summary, and is about as long.
TEXTS_PER_SUMMARY = 2


class Strategy(Protocol):
    """One way to make the context smaller; configured by its constructor, used once per try."""

    @property
    def name(self) -> str:
        """The name in the registry and on record."""

    @property
    def kind(self) -> Kind:
        """The replacement of hidden messages: a summary, a marker, or a line for each result."""

    @property
    def asks_model(self) -> bool:
        """True if a model is called; without this attribute, every summary calls one."""

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that will be sent to the model, empty if none is called."""

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a reduction, or raise a CondenseError; change nothing either way."""


class ByModel:
    """The shared part of strategies that have a model write a summary."""

    kind: Kind = "condensed"
    asks_model = True
    takes: ClassVar[tuple[str, ...]] = ()

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that ends the summary request."""
        key, words = situation.prompt_key, words_for(situation)
        said = situation.feedback
        return condense_instruction(
            situation.prompt, situation.focus, key=key, words=words, feedback=said
        )


class ByRule:
    """The shared part of strategies that ask no model."""

    asks_model = False
    takes: ClassVar[tuple[str, ...]] = ()

    def prompt_for(self, situation: Situation) -> str:  # noqa: ARG002 - the protocol's signature
        """Return nothing: no model is asked."""
        return ""


def words_for(situation: Situation) -> int:
    """Return a summary's length in words, 0 if unknown; half of a reply is for the analysis."""
    tokens = min(LENGTH * situation.tokens.value, situation.budget.reserved / 2)
    return max(FEWEST_WORDS, 10 * int(tokens * WORDS / 10)) if tokens else 0


def expected_usage(
    gauge: Gauge, prompt: str, summarizer: Summarizer, counter: TokenCounter
) -> Usage:
    """Return the tokens that a summary of the read messages may take; none without a prompt.

    ``cache_read`` is the part that the conversation's own calls have sent before, cached still or
    not.
    """
    if not prompt:
        return Usage()
    situation = gauge.situation
    effective, budget = situation.effective, budget_of(summarizer, situation.budget)
    shown = situation.picked if situation.chosen else effective[: unread_tail(effective)]
    read = gauge.scale * gauge.size(shown)
    asked, output = counter.count(prompt), int(TEXTS_PER_SUMMARY * words_for(situation) / WORDS)
    output = min(output, budget.reserved)
    same = round(read + gauge.scale * gauge.fixed)
    caches = not situation.chosen and getattr(summarizer, "caches_prompts", False)
    if caches and same + asked <= budget.capacity:
        return Usage(input=asked, output=output, cache_read=same)
    asked += counter.count(load_prompt("summary_system"))
    return Usage(input=round(read) + asked, output=output)


def asks_model(strategy: Strategy) -> bool:
    """Return True if a strategy calls the model, by its own attribute or else by its kind."""
    return bool(getattr(strategy, "asks_model", strategy.kind == "condensed"))


def make_reduction(
    strategy: Strategy,
    hidden: Sequence[Message],
    content: Content,
    tags: Tags,
    *,
    gauge: Gauge,
    kit: Kit,
) -> Reduction:
    """Return the reduction that replaces ``hidden`` messages by one with ``content``.

    Pins among them are part of that message, unless it only clears results.
    """
    if not tags.clear_id and (pins := carryover.carried_pins(gauge.situation, hidden)):
        content = (*((TextBlock(content),) if isinstance(content, str) else content), *pins)
    ids = tuple([message.id for message in hidden])
    message = Message(
        role="user",
        content=content,
        id=kit.new_id(),
        position=hidden[-1].order[0],
        tags=tags,
        tokens=kit.counter.count(content),
    )
    before, after = gauge.compare(ids, message)
    return Reduction(
        kind=strategy.kind,
        strategy=strategy.name,
        message=message,
        hidden=ids,
        tokens_before=before,
        tokens_after=after,
    )


@dataclass(frozen=True, slots=True)
class Split:
    """The messages to hide, those that stay after the summary, and the unread ones of both."""

    hidden: tuple[Message, ...]
    kept: tuple[Message, ...]
    unread: tuple[Message, ...]
    keeps_first: bool = False  # the summary carries the first message word for word


def split_at(gauge: Gauge, cuts: Sequence[int] = ()) -> Split:
    """Return the split at the first of ``cuts`` whose rest fits, or before the unread messages.

    Below the limit any rest fits; if not even the unread messages do, everything is hidden. Raises
    NothingToCondense if the summary would have nothing new.
    """
    situation, effective = gauge.situation, gauge.situation.effective
    unread_from = unread_tail(effective)
    unread, cuts = effective[unread_from:], (*cuts, unread_from)
    if situation.is_over:
        pinned = gauge.weigh(carryover.carried_pins(situation, effective[:unread_from]))
        room = gauge.limit * (1 - SUMMARY_SHARE) - gauge.fixed - pinned
        cuts = [cut for cut in cuts if gauge.size(effective[cut:]) <= room] or [len(effective)]
    require_enough(effective, effective[: cuts[0]])
    return Split(effective[: cuts[0]], effective[cuts[0] :], unread)


def opening(summary: str = "", preface: str = "summary_preface") -> TextBlock:
    """Return the first block of every summary: heading, preface and text."""
    return TextBlock(f"{HEADING}\n{load_prompt(preface)}" + (f"\n\n{summary}" if summary else ""))


def with_written(made: Reduction, written: WrittenSummary, prompt: str, kit: Kit) -> Reduction:
    """Return a reduction with the model's text, the prompt, and their cost."""
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
    """Return the model's instruction, with additions to update or repair a summary."""
    prompt = strategy.prompt_for(gauge.situation)
    if [True for message in split.hidden if message.is_summary]:
        prompt = framed("update", prompt)
    return repair_instruction(prompt, kit.lacking)


async def summarise(strategy: Strategy, split: Split, gauge: Gauge, kit: Kit) -> Reduction:
    """Return the reduction that hides messages behind a summary of them by the model."""
    prompt = instruction(strategy, split, gauge, kit)
    written = await Writer(gauge, kit).write(split.hidden, prompt)
    made = carrying_reduction(strategy, split, gauge, kit, (opening(written.summary),))
    return with_written(made, written, prompt, kit)


def carrying_reduction(
    strategy: Strategy,
    split: Split,
    gauge: Gauge,
    kit: Kit,
    head: Sequence[Block],
    *,
    tags: Tags | None = None,
    facts: Sequence[Block] = (),
) -> Reduction:
    """Return the reduction with ``head`` and the carried blocks in place of hidden messages.

    A request that ``facts``, blocks of the ``head``, give as the user's own is not carried again.
    """
    situation, effective = gauge.situation, gauge.situation.effective
    tags = tags or Tags(condense_id=kit.new_id())
    # The unread messages stay, or are hidden before they were read.
    is_lost = len(split.kept) < len(split.unread)
    dropped = carryover.tell_unread(split.unread, gauge) if is_lost else Addition()
    directives = carryover.repeated_directives(situation, {message.id for message in split.kept})
    rest = (*directives, *dropped.blocks)
    first = carried = Addition()
    if split.keeps_first:
        # Half of the room is for the rest.
        room = carryover.room_beside(gauge, split.hidden, split.kept, (*head, *rest))
        first = carryover.carry_first(effective, room / 2, kit.counter)
    if split.unread:
        # A summary may repeat the request by chance; only these give it as the user's.
        known, around = (*facts, *first.blocks), (*head, *first.blocks, *rest)
        room = carryover.room_beside(gauge, split.hidden, split.kept, around)
        carried = carryover.carry_newest(effective, split.hidden, known, room, kit.counter)
    blocks = (*head, *first.blocks, *carried.blocks, *rest)
    made = make_reduction(strategy, split.hidden, blocks, tags, gauge=gauge, kit=kit)
    return replace(made, notes=(*dropped.notes, *first.notes, *carried.notes))
