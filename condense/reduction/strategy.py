"""Strategies: the shape that each has, what it may work with, and what it is expected to take."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

from condense.budget.situation import Gauge, Kind, Reduction, Situation
from condense.history.boundaries import unread_tail
from condense.messages import Content, Message, Tags, TextBlock
from condense.prices import Usage
from condense.prompts import condense_instruction, load_prompt
from condense.reduction.carryover import carried_pins
from condense.summaries.summarizer import Kit, Summarizer, budget_of
from condense.tokens.counters import TokenCounter

# Summaries of real sessions took 3.7 % of what they hid; a token is three quarters of a word.
LENGTH, WORDS = 0.04, 0.75
FEWEST_WORDS = 150  # so that every section has a line or two
# An analysis comes before the summary, and is about as long.
TEXTS = 2


class Strategy(Protocol):
    """One way to make the context smaller; configured by its constructor, used once per try."""

    @property
    def name(self) -> str:
        """The name in the registry and on record."""

    @property
    def kind(self) -> Kind:
        """Whether a summary stands for what is hidden, a marker, or a line for each result."""

    @property
    def asks_model(self) -> bool:
        """Whether a model is called; missing means that one is for every summary."""

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that will be sent to the model, empty where none is called."""

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a reduction, or raise a CondenseError; change nothing either way."""


class ByModel:
    """What strategies that have a summary written have in common."""

    kind: Kind = "condensed"
    asks_model = True
    takes: ClassVar[tuple[str, ...]] = ()

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that ends the summary request."""
        key, words = situation.prompt_key, words_for(situation)
        return condense_instruction(situation.prompt, situation.focus, key=key, words=words)


class ByRule:
    """What strategies that ask no model have in common."""

    asks_model = False
    takes: ClassVar[tuple[str, ...]] = ()

    def prompt_for(self, situation: Situation) -> str:  # noqa: ARG002 - the protocol's signature
        """Return nothing: no model is asked."""
        return ""


def words_for(situation: Situation) -> int:
    """Return how long a summary should be, 0 where the size is unknown.

    Half of what a reply may take is for the analysis.
    """
    tokens = min(LENGTH * situation.tokens.value, situation.budget.reserved / 2)
    return max(FEWEST_WORDS, 10 * int(tokens * WORDS / 10)) if tokens else 0


def expected_usage(
    gauge: Gauge, prompt: str, summarizer: Summarizer, counter: TokenCounter
) -> Usage:
    """Return the tokens that a summary of what the model has read may take; none without a prompt.

    ``cache_read`` is what the conversation's own calls have sent before, whether or not the
    provider still has it.
    """
    if not prompt:
        return Usage()
    situation = gauge.situation
    effective, budget = situation.effective, budget_of(summarizer, situation.budget)
    shown = situation.picked if situation.chosen else effective[: unread_tail(effective)]
    read = gauge.scale * gauge.size(shown)
    asked, output = counter.count(prompt), int(TEXTS * words_for(situation) / WORDS)
    output = min(output, budget.reserved)
    same = round(read + gauge.scale * gauge.fixed)
    caches = not situation.chosen and getattr(summarizer, "caches_prompts", False)
    if caches and same + asked <= budget.capacity:
        return Usage(input=asked, output=output, cache_read=same)
    asked += counter.count(load_prompt("summary_system"))
    return Usage(input=round(read) + asked, output=output)


def asks_model(strategy: Strategy) -> bool:
    """Whether a strategy calls the model, as it says itself or as its kind suggests."""
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
    """Return the reduction in which a message with ``content`` stands for what is ``hidden``.

    What is pinned there is part of that message, unless it only clears results.
    """
    if not tags.clear_id and (pins := carried_pins(gauge.situation, hidden)):
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
