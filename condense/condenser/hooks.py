"""What an application may hang around a condensation; none of it can break one.

A hook that raises is logged, noted with the attempt, and otherwise as if it were not there.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from condense.condenser.log import Attempt
from condense.errors import CondenseError
from condense.messages import Block
from condense.situation import Addition, Reduction, Situation, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is about to do; ``situation`` is for reading, the rest may be changed.

    ``strategies`` are the names of the rungs in their order, ``prompt`` and ``focus`` the user's.
    """

    situation: Situation
    strategies: tuple[str, ...]
    prompt: str
    focus: str


@dataclass(frozen=True, slots=True)
class Veto:
    """What a ``before`` hook returns to stop a run; ``reason`` is a sentence for people."""

    reason: str


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A strategy begins."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AttemptSucceeded:
    """The reduction holds and was applied."""

    attempt: Attempt
    reduction: Reduction


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """The try came to nothing; the error has its cost and its model calls."""

    attempt: Attempt
    error: CondenseError


@dataclass(frozen=True, slots=True)
class FellBack:
    """After a failure the strategy ``to`` is tried next."""

    attempt: Attempt
    to: str


Event = AttemptStarted | AttemptSucceeded | AttemptFailed | FellBack
Before = Callable[[Plan], Awaitable[Plan | Veto | None]]
After = Callable[[Situation, Reduction], Awaitable[Sequence[Block] | Addition]]
Validator = Callable[[Situation, Reduction], Awaitable[Verdict]]
Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """All hooks of a condenser, each kind called in order.

    ``before`` may change the plan, with None for "as it is", or return a Veto; ``after`` returns
    blocks for the model to read after the summary, or an Addition to say something on record too;
    ``validators`` judge what is then applied; ``listeners`` are told each event and must return at
    once. What an ``after`` hook adds is left out where the context would not shrink enough with it.
    """

    before: tuple[Before, ...] = ()
    after: tuple[After, ...] = ()
    validators: tuple[Validator, ...] = ()
    listeners: tuple[Listener, ...] = ()
