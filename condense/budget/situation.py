"""Situations: the state before a condensation; reductions: its result."""

import enum
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from condense.budget.budget import Budget
from condense.budget.language import language_in
from condense.errors import SkipReason
from condense.folded_files.results import Folded, FoldedFile
from condense.history.effective_history import replace_hidden
from condense.messages import Block, Json, Message
from condense.prices import Usage
from condense.sentences import say
from condense.tokens.counters import TokenCount, TokenCounter, compact, count_messages

Kind = Literal["condensed", "truncated", "cleared"]
Reason = Literal["asked", "refused", "allowed", "threshold"]
Environment = Callable[[], Awaitable[str]]
RulesAmong = Callable[[Sequence[str]], Collection[str]]


class Trigger(enum.StrEnum):
    """The occasions of a condensation."""

    AUTO = "auto"
    """Before a request; does something only where the budget says so."""
    FORCED = "forced"
    """The provider said that the request does not fit; its word counts."""
    MANUAL = "manual"
    """The user asked for it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The ids of the consecutive messages to condense."""

    ids: tuple[str, ...]
    call: str = ""  # only its result, in the one message
    originals: tuple[Message, ...] = ()  # the one message is a summary, to be written from these


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One conversation at the moment its context is looked at.

    The threshold waits for new text after ``condensed_at`` and ``undone_at``, the limit only after
    the first.
    """

    effective: tuple[Message, ...]  # the effective history, in reading order
    tokens: TokenCount  # size with system prompt and tools
    budget: Budget
    trigger: Trigger = Trigger.AUTO
    system: str = ""
    tools: tuple[Json, ...] = ()  # JSON specs
    history: tuple[Message, ...] = ()  # all tagged messages if known, for hidden directives
    automatic: bool = True  # the user's switch
    prompt: str = ""  # replaces the condensing prompt unless blank
    focus: str = ""  # a manual run keeps it above all
    feedback: tuple[str, ...] = ()  # the user's verdicts on earlier summaries
    prompt_key: str = "condense"  # names the prompt if the user has none
    model: str = ""  # for a hook that chooses that prompt
    environment: Environment | None = None  # awaited text at the end of an automatic summary
    chosen: Chosen | None = None  # the part that a manual run condenses, None for all
    # Returns the sentences that set a rule without a word that says so; called in a thread.
    rules_among: RulesAmong | None = None
    condensed_at: int = 0  # seq of the newest message at the last try, 0 without one
    undone_at: int = 0  # the same for the last condensation that the user undid
    may_ask: bool = True  # False after a model call failed, or was declined, in the same turn
    in_tool_loop: bool = False  # newest message answers calls: only the limit interrupts
    user: str = ""  # the caller's id, for hooks
    conversation: str = ""  # the caller's id, for hooks

    @property
    def language(self) -> str:
        """The language of the user's newest words, as :func:`condense.language_in` gives it."""
        return language_in(self.effective)

    @property
    def reason(self) -> Reason | None:
        """The reason for a condensation: a request, a refusal, or the limit that is reached."""
        if self.trigger is not Trigger.AUTO:
            return "asked" if self.trigger is Trigger.MANUAL else "refused"
        wanted = self.automatic and not self.in_tool_loop
        rule = self.budget.reason(self.tokens.value, automatic=wanted)
        return "allowed" if rule and self.tokens.value > self.budget.allowed else rule

    @property
    def is_over(self) -> bool:
        """True if the context exceeds the limit of a request, by the provider's word or ours."""
        return self.trigger is Trigger.FORCED or self.tokens.value > self.budget.allowed

    @property
    def fits(self) -> bool:
        """True if a request may still be sent as it is: nobody refused it, and a reply has room."""
        return self.trigger is not Trigger.FORCED and self.tokens.value <= self.budget.capacity

    @property
    def room(self) -> int:
        """Tokens that a request may hold at most; a provider that refused may count more."""
        forced = self.trigger is Trigger.FORCED
        return int(self.budget.allowed) if forced else self.budget.capacity

    @property
    def picked(self) -> tuple[Message, ...]:
        """The chosen messages, or their originals; none if none was chosen."""
        chosen = self.chosen or Chosen(())
        return chosen.originals or tuple([one for one in self.effective if one.id in chosen.ids])


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A validator's verdict."""

    issues: tuple[str, ...] = ()  # sentences
    score: float | None = None  # from 0 to 1, higher is better
    name: str = ""
    rejects: bool = False  # a model's summary is written again, or replaced by the ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A smaller context, ready to be applied; nothing is changed until the caller does so.

    Both token counts are of the whole request, system prompt and tools included, in one unit.
    """

    kind: Kind
    strategy: str
    message: Message  # the summary or the marker to insert, without a seq
    hidden: tuple[str, ...]  # ids that it hides, or clears results of, in reading order
    tokens_before: TokenCount
    tokens_after: TokenCount
    summary: str = ""
    analysis: str = ""  # the model's scratch text, which nobody sends again
    prompt: str = ""  # the instruction that was sent
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)
    notes: tuple[str, ...] = ()  # sentences for people
    verdicts: tuple[Verdict, ...] = ()  # of validators
    folded: Folded | None = None  # files that follow it as signatures, None if none had been read

    def hidden_among(self, messages: Iterable[Message]) -> list[Message]:
        """Return those of the messages that it hides, or clears results of."""
        ids = frozenset(self.hidden)
        return [message for message in messages if message.id in ids]

    @property
    def lacking(self) -> tuple[str, ...]:
        """The validators' reasons to reject it, one sentence each."""
        rejecting = [one for one in self.verdicts if one.rejects]
        issues = [one.issues or (say("{name} refuses it", name=one.name),) for one in rejecting]
        return tuple([issue for some in issues for issue in some])

    @property
    def count(self) -> int:
        """The number of messages it hides, or of results it clears."""
        cleared = self.message.tags.cleared.values()
        return sum([len(lines) for lines in cleared]) or len(self.hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """An addition to a reduction, for the model and for the record."""

    blocks: tuple[Block, ...] = ()  # for the model
    notes: tuple[str, ...] = ()
    folded: Folded | None = None
    what: str = ""  # names the blocks for people, in a note that there was no room

    def left_out(self) -> "Addition":
        """Return the addition without its blocks: only the record of files without room."""
        if self.folded is None:
            return Addition()
        dropped = [FoldedFile(one.path, reason=SkipReason.TOO_MUCH) for one in self.folded.files]
        return Addition(folded=Folded(left_out=(*dropped, *self.folded.left_out)))


class Gauge:
    """Measures one situation and its possible reductions, all in the same unit.

    Histories are always estimated with the counter. ``scale`` converts those estimates to the unit
    of the situation's own number, which the provider may have measured.
    """

    def __init__(self, situation: Situation, counter: TokenCounter) -> None:
        self.situation = situation
        self.counter = counter
        self.weigh = counter.count  # the estimated tokens of contents that are not a message yet
        # The parts that every request repeats; tools are counted as compact JSON, as in Roo Code.
        tools = counter.count(compact(situation.tools)) if situation.tools else 0
        self.fixed = counter.count(situation.system) + tools
        self.before = self.fixed + self.size(situation.effective)
        known = situation.tokens.value
        self.scale = known / self.before if known and self.before else 1.0

    @property
    def cautious_scale(self) -> float:
        """The scale at which a refused request fills the window, less the reply's share."""
        if self.situation.trigger is Trigger.FORCED and self.before:
            return max(self.scale, self.situation.budget.capacity / self.before)
        return self.scale

    @property
    def limit(self) -> float:
        """The estimated tokens that the whole request should hold at most."""
        return self.situation.budget.allowed / self.cautious_scale

    def size(self, messages: Iterable[Message]) -> int:
        """Return the estimated tokens of some messages."""
        return count_messages(messages, self.counter)

    def compare(self, hidden: Sequence[str], message: Message) -> tuple[TokenCount, TokenCount]:
        """Return the size of the whole request before and after hiding."""
        after = self.fixed + self.size(replace_hidden(self.situation.effective, hidden, message))
        known = self.situation.tokens
        before = known if known.value else TokenCount(self.before)
        return before, TokenCount(round(after * self.scale))
