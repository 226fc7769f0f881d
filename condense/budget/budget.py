"""Budgets: the usable part of a context window, and the threshold of a condensation."""

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import Any, Literal

from condense.errors import InvalidBudget
from condense.messages import Message, TextBlock
from condense.sentences import say
from condense.tokens.counters import CharacterCounter, TokenCounter, count_messages

logger = logging.getLogger(__name__)

DEFAULT_OUTPUT = 8192
OUTPUT_SHARE = 0.2  # of the window: the most that a model could write is seldom what it writes
BUFFER = 0.1
MIN_THRESHOLD, MAX_THRESHOLD = 5, 100
INHERIT = -1  # a profile's threshold that stands for the one in the settings

THRESHOLD_OUT_OF_RANGE = "The %s threshold of %g %% is not between %s and %s: not used"
LATEST_TURNS = 5  # turns that the next one is likely to resemble

Rule = Literal["threshold", "allowed"]


def output_limit(window: int, max_output: int | None = None) -> int:
    """Return ``max_output``, 8,192 if it is unknown, but at most a fifth of the window."""
    return min(max_output or DEFAULT_OUTPUT, math.ceil(window * OUTPUT_SHARE))


@dataclass(frozen=True, slots=True)
class Budget:
    """A context window in tokens, with a reserve for the reply and a threshold to condense at.

    ``threshold`` is a percentage of the whole window, and ``threshold_source`` whose it is, as
    :func:`condense.with_threshold` finds them; ``buffer`` is a share of the window. Raises
    InvalidBudget for numbers that make no sense.
    """

    window: int
    max_output: int | None = None
    threshold: float = 100
    threshold_source: str = "global"
    buffer: float = BUFFER

    def __post_init__(self) -> None:
        """Raise InvalidBudget for negative and infinite numbers, NaN, and a full buffer."""
        for name in ("window", "max_output", "threshold", "buffer"):
            value, most = getattr(self, name) or 0, 1 if name == "buffer" else math.inf
            if not 0 <= value < most:
                said = say("A budget's {name} can't be {value}.", name=name, value=value)
                raise InvalidBudget(said)

    @property
    def reserved(self) -> int:
        """Tokens kept free for the reply."""
        return self.max_output or DEFAULT_OUTPUT

    @property
    def capacity(self) -> int:
        """Tokens a prompt can hold at all: the window less the reply."""
        return self.window - self.reserved

    @property
    def allowed(self) -> float:
        """Tokens a request may hold: less by the buffer, which is for wrong estimates."""
        return self.window * (1 - self.buffer) - self.reserved

    def percent(self, tokens: int) -> float:
        """Return the share of the whole window; infinite or NaN for a window of zero."""
        if self.window == 0:
            return math.nan if tokens == 0 else math.copysign(math.inf, tokens)
        return 100 * tokens / self.window

    def describe(self, tokens: int) -> str:
        """Return the used share and the threshold as text for a log."""
        used = f"{tokens} tokens, {self.percent(tokens):.0f} % of {self.window}"
        return f"{used}, threshold {self.threshold:g} % ({self.threshold_source})"

    def reason(self, tokens: int, *, automatic: bool = True) -> Rule | None:
        """Return the rule that calls for a reduction; without ``automatic`` only "allowed"."""
        if automatic and self.percent(tokens) >= self.threshold:
            return "threshold"
        return "allowed" if tokens > self.allowed else None

    @property
    def condenses_at(self) -> int:
        """The smallest token count at which an automatic condensation starts."""
        by_threshold = max(0, math.floor(self.threshold * self.window / 100) - 2)
        tokens = max(0, min(by_threshold, math.floor(self.allowed)))
        while self.reason(tokens) is None:
            tokens += 1
        return tokens


@dataclass(frozen=True, slots=True)
class Threshold:
    """A percentage of the whole window, and its ``source`` in one word."""

    percent: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdQuery:
    """The facts that a threshold may depend on."""

    budget: Budget
    profile: str = ""  # the caller's name for the model's settings
    history: Sequence[Message] = ()  # the effective one, if there is a conversation
    user: str = ""  # the caller's id, if any
    conversation: str = ""  # the caller's id, if any


Resolver = Callable[[ThresholdQuery], Threshold | None]


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same percentage everywhere."""

    percent: float

    def __call__(self, _query: ThresholdQuery) -> Threshold:
        """Return the threshold."""
        return Threshold(self.percent, "global")


@dataclass(frozen=True, slots=True)
class PerProfile:
    """A percentage for each profile that has one; -1 inherits, as in Roo Code."""

    percents: Mapping[str, float | None] = field(default_factory=dict)

    def __call__(self, query: ThresholdQuery) -> Threshold | None:
        """Return the profile's own threshold, None if it has none."""
        own = self.percents.get(query.profile)
        return None if own is None or own == INHERIT else Threshold(own, "profile")


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The latest threshold that leaves room for ``turns`` more turns below the limit."""

    turns: float = 2  # that fit below the limit, at the rate of this conversation
    least: float = 50  # percent, the earliest point
    counter: TokenCounter = field(default_factory=CharacterCounter)  # for uncounted messages

    def __call__(self, query: ThresholdQuery) -> Threshold | None:
        """Return the percentage for this growth, None before a turn is complete."""
        budget, growth = query.budget, growth_per_turn(query.history, self.counter)
        if growth <= 0 or budget.window <= 0:
            return None
        at = budget.percent(math.floor(budget.allowed - self.turns * growth))
        return Threshold(min(MAX_THRESHOLD, max(self.least, at)), "adaptive")


def with_threshold(budget: Budget, resolvers: Iterable[Resolver], **asked: Any) -> Budget:
    """Return the budget with the threshold of the first resolver that gives a usable one.

    Each gets a ThresholdQuery of the ``asked`` fields. A threshold outside 5 to 100 percent is
    logged and skipped; without a usable one the budget stays as it is.
    """
    query = ThresholdQuery(budget=budget, **asked)
    for resolve in resolvers:
        found = resolve(query)
        if found and MIN_THRESHOLD <= found.percent <= MAX_THRESHOLD:
            return replace(budget, threshold=found.percent, threshold_source=found.source)
        if found:
            _warn(found)
    return budget


# A page asks for every conversation's threshold: each wrong one is logged once.
@lru_cache(maxsize=256)
def _warn(found: Threshold) -> None:
    logger.warning(
        THRESHOLD_OUT_OF_RANGE, found.source, found.percent, MIN_THRESHOLD, MAX_THRESHOLD
    )


def growth_per_turn(effective: Sequence[Message], counter: TokenCounter) -> float:
    """Return the tokens that a turn adds: the median of the latest, 0 before one is complete.

    A turn begins with a message of the user and ends at the next one.
    """
    starts = [
        index
        for index, one in enumerate(effective)
        if one.role == "user"
        and not (one.is_summary or one.is_marker)
        and any(isinstance(block, TextBlock) for block in one.blocks)
    ]
    turns = [effective[start:end] for start, end in pairwise(starts)][-LATEST_TURNS:]
    return median(count_messages(turn, counter) for turn in turns) if turns else 0
