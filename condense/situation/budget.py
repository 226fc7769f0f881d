"""How much of a context window may be used, and when that calls for condensing."""

import math
from dataclasses import dataclass
from typing import Literal

DEFAULT_OUTPUT = 8192
OUTPUT_SHARE = 0.2  # of the window: what a model could write at most is seldom what it writes
BUFFER = 0.1
MIN_THRESHOLD, MAX_THRESHOLD = 5, 100
INHERIT = -1  # as a profile's threshold: that of the settings holds

Rule = Literal["threshold", "allowed"]


def output_limit(window: int, max_output: int | None = None) -> int:
    """Return the most tokens to ask a model for, and to keep free for them.

    That is ``max_output``, what the model can write at most, or 8,192 where nobody knows; but no
    more than a fifth of the window.
    """
    return min(max_output or DEFAULT_OUTPUT, math.ceil(window * OUTPUT_SHARE))


@dataclass(frozen=True, slots=True)
class Budget:
    """A context window in tokens, what the reply needs of it, and when to condense.

    ``threshold`` is a percentage of the whole window. A profile's own threshold replaces it,
    unless that is None, -1 (inherit) or outside 5 to 100.
    """

    window: int
    max_output: int | None = None
    threshold: float = 100
    profile_threshold: float | None = INHERIT

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
        """Tokens a request may hold: less by a tenth of the window, which is for estimates."""
        return self.window * (1 - BUFFER) - self.reserved

    @property
    def threshold_source(self) -> Literal["global", "profile"]:
        """Where the effective threshold comes from."""
        own = self.profile_threshold
        usable = own is not None and own != INHERIT and MIN_THRESHOLD <= own <= MAX_THRESHOLD
        return "profile" if usable else "global"

    @property
    def effective_threshold(self) -> float:
        """The percentage of the window at which an automatic condensation starts."""
        own = self.profile_threshold
        return own if self.threshold_source == "profile" and own is not None else self.threshold

    def percent(self, tokens: int) -> float:
        """Return the share of the whole window; infinite or NaN for a window of zero."""
        if self.window == 0:
            return math.nan if tokens == 0 else math.copysign(math.inf, tokens)
        return 100 * tokens / self.window

    def exceeds(self, tokens: int) -> bool:
        """Whether a request of this size is larger than allowed."""
        return tokens > self.allowed

    def reason(self, tokens: int, *, automatic: bool = True) -> Rule | None:
        """Return the rule that calls for a reduction; without ``automatic`` only "allowed"."""
        if automatic and self.percent(tokens) >= self.effective_threshold:
            return "threshold"
        return "allowed" if self.exceeds(tokens) else None

    def should_condense(self, tokens: int, *, automatic: bool) -> bool:
        """Whether the context has to be reduced before the next request."""
        return self.reason(tokens, automatic=automatic) is not None

    @property
    def condenses_at(self) -> int:
        """The smallest token count at which an automatic condensation starts."""
        by_threshold = max(0, math.floor(self.effective_threshold * self.window / 100) - 2)
        tokens = max(0, min(by_threshold, math.floor(self.allowed)))
        while self.reason(tokens) is None:
            tokens += 1
        return tokens

    def available(self, tokens: int) -> int:
        """Return how much of the window is left beside a context of ``tokens`` and the reply."""
        return max(0, self.capacity - tokens)
