"""One call: a whole history in, the same with tags out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from condense.budget.budget import Budget
from condense.budget.situation import Environment, Gauge, Reduction, Situation, Trigger
from condense.condenser.condenser import Condenser
from condense.condenser.hooks import Hooks
from condense.condenser.ladder import Policy
from condense.condenser.log import CondensationLog
from condense.history.effective_history import effective_history
from condense.history.tags import hide_behind
from condense.messages import Json, Message
from condense.summaries.summarizer import Summarizer
from condense.tokens.counters import TiktokenCounter, TokenCount, TokenCounter


@dataclass(frozen=True, slots=True)
class Condensed:
    """A whole history after a run, and what was done; None and unchanged where nothing was due."""

    messages: Sequence[Message]
    reduction: Reduction | None


async def condense(
    messages: Sequence[Message],
    *,
    summarizer: Summarizer,
    counter: TokenCounter | None = None,
    budget: Budget | None = None,
    trigger: Trigger = Trigger.MANUAL,
    system: str = "",
    tools: Sequence[Json] = (),
    prompt: str = "",
    focus: str = "",
    environment: Environment | None = None,
    hooks: Hooks | None = None,
    log: CondensationLog | None = None,
) -> Condensed:
    """Return a whole tagged history with what the model has read hidden behind a summary.

    Only the model's summary is tried. Without a ``budget`` the window is that of Claude's models,
    200,000 tokens. ``Hooks(after=(attach_ledger, AttachFoldedFiles(workspace)))`` adds the facts of
    what is hidden, and the files that were read there as signatures. Raises NothingToCondense,
    SummaryFailed, DidNotShrink or CannotFit; ``messages`` never change.
    """
    counter = counter or TiktokenCounter()
    situation = Situation(
        effective=effective_history(messages),
        history=tuple(messages),
        tokens=TokenCount(0),
        budget=budget or Budget(window=200_000),
        trigger=trigger,
        system=system,
        tools=tuple(tools),
        prompt=prompt,
        focus=focus,
        environment=environment,
    )
    situation = replace(situation, tokens=TokenCount(Gauge(situation, counter).before))
    policy = Policy(small_window=0)
    condenser = Condenser(
        summarizer, counter, ("fresh_start",), policy=policy, hooks=hooks, log=log
    )
    reduction = await condenser.fit(situation)
    if reduction is None:
        return Condensed(messages, None)
    return Condensed(hide_behind(messages, reduction.hidden, reduction.message), reduction)
