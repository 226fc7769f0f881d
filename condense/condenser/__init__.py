"""The ladder of strategies: what a run may try, each attempt on record, and hooks around it."""

from condense.condenser.condenser import Condenser
from condense.condenser.hooks import Hooks, PromptChoice
from condense.condenser.ladder import ladder_from
from condense.condenser.log import Attempt, CondensationLog, NullLog
from condense.condenser.review import Reviewer

__all__ = [
    "Attempt",
    "CondensationLog",
    "Condenser",
    "Hooks",
    "NullLog",
    "PromptChoice",
    "Reviewer",
    "ladder_from",
]
