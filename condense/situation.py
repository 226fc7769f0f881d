"""What a condensation starts from, and what it comes to."""

import enum
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from condense.budget import Budget
from condense.folded import Folded, Reason
from condense.messages import Block, Json, Message
from condense.tagging import clear_results
from condense.tokens import TokenCount, TokenCounter, count_messages
from condense.usage import Usage

Kind = Literal["condensed", "truncated", "cleared"]
Environment = Callable[[], Awaitable[str]]


class Trigger(enum.StrEnum):
    """Why the context is looked at."""

    AUTO = "auto"
    """Before a request; does something only where the budget says so."""
    FORCED = "forced"
    """The provider said that the request does not fit; its word counts."""
    MANUAL = "manual"
    """The user asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One conversation at the moment its context is looked at.

    ``effective`` is what the model sees, in reading order, and ``tokens`` its current size with
    ``system`` and ``tools`` (JSON specs). ``history`` is the whole tagged history where the caller
    has it: directives that a truncation hid are found there. ``automatic`` is the user's switch,
    ``prompt`` replaces the condensing prompt unless blank, ``focus`` is what a manual run should
    keep above all. ``environment`` is awaited only when its text is used.

    ``condensed_at`` is the seq of the newest message when a condensation was last tried, 0 where
    none was; ``may_ask`` is false after a model call failed, or was declined, in the same turn.
    """

    effective: tuple[Message, ...]
    tokens: TokenCount
    budget: Budget
    trigger: Trigger = Trigger.AUTO
    system: str = ""
    tools: tuple[Json, ...] = ()
    history: tuple[Message, ...] = ()
    automatic: bool = True
    prompt: str = ""
    focus: str = ""
    environment: Environment | None = None
    condensed_at: int = 0
    may_ask: bool = True

    @property
    def is_over(self) -> bool:
        """Whether the context exceeds what a request may hold."""
        return self.budget.exceeds(self.tokens.value)

    def fixed_tokens(self, counter: TokenCounter) -> int:
        """Return the estimated size of what every request repeats: system prompt and tools."""
        return counter.count(self.system) + self.tools_tokens(counter)

    def tools_tokens(self, counter: TokenCounter) -> int:
        """Return the estimated size of the tool specs, as compact JSON."""
        if not self.tools:
            return 0
        return counter.count(json.dumps(self.tools, separators=(",", ":"), ensure_ascii=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a validator found: ``issues`` as sentences, ``score`` from 0 to 1, higher is better."""

    issues: tuple[str, ...] = ()
    score: float | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A smaller context, ready to be applied: nothing is changed until the caller does so.

    ``message`` is the summary or the marker to insert, its seq still unset, and ``hidden`` the ids
    it hides, or clears results of, in reading order. Both token counts are of the whole request,
    system prompt and tools included, and in the same unit. ``prompt`` is the instruction that was
    sent, ``analysis`` the model's scratch text, which nobody sends again; ``notes`` are sentences
    for people, ``verdicts`` what validators found, and ``folded`` which files stand beside the
    summary as signatures, None where none had been read.
    """

    kind: Kind
    strategy: str
    message: Message
    hidden: tuple[str, ...]
    tokens_before: TokenCount
    tokens_after: TokenCount
    summary: str = ""
    analysis: str = ""
    prompt: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    folded: Folded | None = None

    @property
    def count(self) -> int:
        """How many messages it hides, or how many results it clears."""
        cleared = self.message.tags.cleared.values()
        return sum(len(lines) for lines in cleared) or len(self.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What is added to a reduction: ``blocks`` for the model, the rest for the record."""

    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    folded: Folded | None = None

    def left_out(self) -> "Addition":
        """Return what is still to be said where the blocks are too much."""
        folded = self.folded and self.folded.left_out(Reason.TOO_MUCH)
        return Addition(folded=folded)


def replace_hidden(
    effective: Sequence[Message], hidden: Sequence[str], message: Message
) -> tuple[Message, ...]:
    """Return the history with ``message``, a summary or marker, after the last one it hides.

    What a clearing's marker stands for stays, with one line for each result it clears.
    """
    ids = frozenset(hidden)
    last = next(i for i in reversed(range(len(effective))) if effective[i].id in ids)
    before: Sequence[Message] = effective[: last + 1]
    if message.tags.cleared:
        before = clear_results(before, message.tags.cleared)
    else:
        before = [one for one in before if one.id not in ids]
    return (*before, message, *effective[last + 1 :])


class Gauge:
    """Measures one situation and what may become of it, all in the same unit.

    Histories are always estimated with the counter. ``scale`` converts those estimates to the
    unit of the situation's own number, which the provider may have measured.
    """

    def __init__(self, situation: Situation, counter: TokenCounter) -> None:
        """Estimate the situation as it is."""
        self._situation = situation
        self._counter = counter
        self.fixed = situation.fixed_tokens(counter)
        self.before = self.fixed + self.size(situation.effective)
        known = situation.tokens.value
        self.scale = known / self.before if known and self.before else 1.0

    @property
    def cautious_scale(self) -> float:
        """The scale at which a refused request fills what the reply leaves of the window."""
        budget = self._situation.budget
        if self._situation.trigger is Trigger.FORCED and self.before:
            return max(self.scale, (budget.window - budget.reserved) / self.before)
        return self.scale

    @property
    def limit(self) -> float:
        """The estimated tokens that the whole request should hold at most."""
        return self._situation.budget.allowed / self.cautious_scale

    def size(self, messages: Iterable[Message]) -> int:
        """Return the estimated tokens of some messages."""
        return count_messages(messages, self._counter)

    def compare(self, hidden: Sequence[str], message: Message) -> tuple[TokenCount, TokenCount]:
        """Return the size of the whole request before and after hiding."""
        after = self.fixed + self.size(replace_hidden(self._situation.effective, hidden, message))
        known = self._situation.tokens
        before = known if known.value else TokenCount(self.before)
        return before, TokenCount(round(after * self.scale))
