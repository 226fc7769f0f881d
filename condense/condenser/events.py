"""What listeners are told of an attempt, and what the server's log says of it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from condense.condenser.log import Attempt, CondensationLog
from condense.errors import CondenseError
from condense.situation import Reduction

logger = logging.getLogger(__name__)

# Never what a message, a summary or an error says.
STARTED = "attempt %s: %s, %s, %d tokens"
SUCCEEDED = "attempt %s: %d → %d tokens, %d hidden, cost %s"
FAILED = "attempt %s: %s after %d calls, cost %s; next: %s"
CANCELLED = "attempt %s: cancelled"


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


@dataclass(frozen=True, slots=True)
class ToldLog:
    """A log, with a line for each attempt, that tells of what went on record once it is there."""

    log: CondensationLog
    tell: Callable[[Event], None]

    async def started(self, attempt: Attempt) -> None:
        """Record it, and tell it."""
        await self.log.started(attempt)
        logger.info(
            STARTED, attempt.id, attempt.strategy, attempt.trigger, attempt.tokens_before.value
        )
        self.tell(AttemptStarted(attempt))

    async def progressed(self, attempt: Attempt, tokens_written: int) -> None:
        """Record it; listeners are not kept busy with every word."""
        await self.log.progressed(attempt, tokens_written)

    async def succeeded(self, attempt: Attempt, reduction: Reduction) -> Reduction:
        """Record it, tell it, and return it with the size after it as the record has it."""
        if size := await self.log.succeeded(attempt, reduction):
            reduction = replace(reduction, tokens_after=size)
        sizes = reduction.tokens_before.value, reduction.tokens_after.value
        logger.info(SUCCEEDED, attempt.id, *sizes, reduction.count, reduction.cost)
        self.tell(AttemptSucceeded(attempt, reduction))
        return reduction

    async def failed(
        self, attempt: Attempt, error: CondenseError, *, fell_back_to: str | None = None
    ) -> None:
        """Record it, and tell it, with what comes next."""
        await self.log.failed(attempt, error, fell_back_to=fell_back_to)
        following = fell_back_to or "nothing"
        logger.info(FAILED, attempt.id, type(error).__name__, error.calls, error.cost, following)
        self.tell(AttemptFailed(attempt, error))
        if fell_back_to:
            self.tell(FellBack(attempt, fell_back_to))

    async def cancelled(self, attempt: Attempt) -> None:
        """Record it; whoever took it back knows."""
        await self.log.cancelled(attempt)
        logger.info(CANCELLED, attempt.id)
