"""What a condensation starts from: window, reserve, threshold, and whether one is due."""

from condense.situation.budget import BUFFER, Budget
from condense.situation.decision import Decision, require_enough
from condense.situation.gauge import Gauge
from condense.situation.language import language_in
from condense.situation.policy import Policy
from condense.situation.situation import (
    Addition,
    Chosen,
    Environment,
    Kind,
    Reduction,
    Situation,
    Trigger,
    Verdict,
)
from condense.situation.thresholds import Fixed, Resolver, with_threshold

__all__ = [
    "BUFFER",
    "Addition",
    "Budget",
    "Chosen",
    "Decision",
    "Environment",
    "Fixed",
    "Gauge",
    "Kind",
    "Policy",
    "Reduction",
    "Resolver",
    "Situation",
    "Trigger",
    "Verdict",
    "language_in",
    "require_enough",
    "with_threshold",
]
