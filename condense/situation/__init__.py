"""What a condensation starts from: window, reserve, threshold, and whether one is due."""

from condense.situation.budget import Budget
from condense.situation.decision import Decision, require_enough
from condense.situation.gauge import Gauge
from condense.situation.policy import Policy
from condense.situation.situation import (
    Addition,
    Environment,
    Kind,
    Reduction,
    Situation,
    Trigger,
    Verdict,
)

__all__ = [
    "Addition",
    "Budget",
    "Decision",
    "Environment",
    "Gauge",
    "Kind",
    "Policy",
    "Reduction",
    "Situation",
    "Trigger",
    "Verdict",
    "require_enough",
]
