"""Logs: the record of every attempt, failures and costs included, and the events of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from condense.budget.situation import Kind, Reduction, Trigger
from condense.errors import CondenseError
from condense.messages import Message
from condense.prices import Usage
from condense.tokens.counters import TokenCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One strategy's try."""

    id: str  # a fresh UUID
    strategy: str
    kind: Kind
    trigger: Trigger
    threshold: float  # percentage of the window
    threshold_source: str
    tokens_before: TokenCount
    prompt: str = ""
    prompt_key: str = ""  # "custom" is the user's own, "" none
    focus: str = ""  # to be kept above all
    expected: Usage = field(default_factory=Usage)  # tokens of its calls, by ``expected_usage``
    effective: Sequence[Message] = field(default=(), repr=False)  # history at its start
    user: str = ""
    conversation: str = ""


class CondensationLog(Protocol):
    """The keeper of the record; each method is called once per event, in order.

    After ``started`` comes exactly one of ``succeeded``, ``failed`` and ``cancelled``.
    """

    async def started(self, attempt: Attempt) -> None:
        """A strategy begins."""

    async def progressed(self, attempt: Attempt, tokens_written: int) -> None:
        """The summary has grown to about so many tokens."""

    async def succeeded(self, attempt: Attempt, reduction: Reduction) -> TokenCount | None:
        """The reduction holds: apply it, in one transaction with its record.

        Returns the size of the request after it if that is known better than ``tokens_after``.
        """

    async def failed(
        self, attempt: Attempt, error: CondenseError, *, fell_back_to: str | None = None
    ) -> None:
        """The try failed; ``fell_back_to`` names the strategy tried next."""

    async def cancelled(self, attempt: Attempt) -> None:
        """The user, or a shutdown, took the try back."""


class NullLog:
    """Keeps no record."""

    async def _ignore(self, *_: object, **__: object) -> None:
        """Do nothing."""

    started = progressed = succeeded = failed = cancelled = _ignore


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
    """The try failed; the error has its cost and its model calls."""

    attempt: Attempt
    error: CondenseError


@dataclass(frozen=True, slots=True)
class FellBack:
    """After a failure the strategy ``to`` is tried next."""

    attempt: Attempt
    to: str


Event = AttemptStarted | AttemptSucceeded | AttemptFailed | FellBack
