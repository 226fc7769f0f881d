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

    ``threshold`` is a percentage of the whole window, and ``threshold_source`` whose it is, as
    :func:`condense.with_threshold` finds them; ``buffer`` is a share of the window.
    """

    window: int
    max_output: int | None = None
    threshold: float = 100
    threshold_source: str = "global"
    buffer: float = BUFFER

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

    def exceeds(self, tokens: int) -> bool:
        """Whether a request of this size is larger than allowed."""
        return tokens > self.allowed

    def reason(self, tokens: int, *, automatic: bool = True) -> Rule | None:
        """Return the rule that calls for a reduction; without ``automatic`` only "allowed"."""
        if automatic and self.percent(tokens) >= self.threshold:
            return "threshold"
        return "allowed" if self.exceeds(tokens) else None

    def should_condense(self, tokens: int, *, automatic: bool) -> bool:
        """Whether the context has to be reduced before the next request."""
        return self.reason(tokens, automatic=automatic) is not None

    @property
    def condenses_at(self) -> int:
        """The smallest token count at which an automatic condensation starts."""
        by_threshold = max(0, math.floor(self.threshold * self.window / 100) - 2)
        tokens = max(0, min(by_threshold, math.floor(self.allowed)))
        while self.reason(tokens) is None:
            tokens += 1
        return tokens

    def available(self, tokens: int) -> int:
        """Return how much of the window is left beside a context of ``tokens`` and the reply."""
        return max(0, self.capacity - tokens)
