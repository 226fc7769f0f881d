"""What stands beside a summary without a model's help; each is an ``after`` hook."""

import asyncio
from collections.abc import Sequence

from condense.facts import BUDGET, SHARE, ledger
from condense.messages import Block
from condense.situation import Reduction, Situation


async def attach_ledger(situation: Situation, reduction: Reduction) -> Sequence[Block]:
    """Return the facts of what a summary by a model hides, copied by rule.

    They take 4 % of the window at most. A ledger that is itself the summary, and a truncation's
    marker, carry theirs already.
    """
    if reduction.kind != "condensed" or not reduction.prompt:
        return ()
    ids = frozenset(reduction.hidden)
    hidden = [message for message in situation.effective if message.id in ids]
    budget = int(situation.budget.window * SHARE) or BUDGET
    return await asyncio.to_thread(ledger, hidden, budget_tokens=budget)
