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
    """One strategy's try; ``id`` is a fresh UUID, ``threshold`` a percentage of the window.

    ``effective`` is the effective history at its start, ``focus`` is to be kept above all,
    ``prompt_key`` names the prompt: "custom" is the user's own, "" is none. ``expected`` are the
    tokens that its calls may take, by :func:`condense.expected_usage`.
    """

    id: str
    strategy: str
    kind: Kind
    trigger: Trigger
    threshold: float
    threshold_source: str
    tokens_before: TokenCount
    prompt: str = ""
    prompt_key: str = ""
    focus: str = ""
    expected: Usage = field(default_factory=Usage)
    effective: Sequence[Message] = field(default=(), repr=False)
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
