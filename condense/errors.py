"""Every error the engine raises, as one tree below ``CondenseError``.

Each carries technical details, and the cost and number of the model calls that were made.
"""

import asyncio
import enum
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from decimal import Decimal

from condense.sentences import noop, say


class CondenseError(Exception):
    """Base of every error raised by the engine; its text is a sentence for people."""

    def __init__(
        self, message: str, *, details: str = "", cost: Decimal = Decimal(0), calls: int = 0
    ) -> None:
        super().__init__(message)
        self.details = details
        self.cost = cost
        self.calls = calls


class InvalidMessage(CondenseError):
    """A message or content block does not have the shape the Messages API gives it."""


class InvalidBudget(CondenseError):
    """A number of a budget makes no sense: it is negative, infinite, or no number."""


class UnknownMessage(CondenseError):
    """The id names no message, summary, marker or rewind of the given history."""


class UndoRefused(CondenseError):
    """An undo is impossible: it is undone already, or something later rests on it."""


class RedoRefused(CondenseError):
    """A redo is impossible: it is not undone, or its messages have changed since."""


class NothingToCondense(CondenseError):
    """There is nothing to hide: too few messages, or none since the last summary."""


class SummaryFailed(CondenseError):
    """The summary call raised, was refused, or answered without usable text."""


class SummaryOverflow(SummaryFailed):
    """The provider says that the summary call itself exceeds the context window."""


class SummaryRejected(SummaryFailed):
    """Validators reject the summary; ``rules`` names them."""

    rules: tuple[str, ...] = ()


class Vetoed(CondenseError):
    """The application, a hook or its summarizer, stopped the run: nothing else is tried."""


class Discarded(CondenseError):
    """A person rejected the proposal, so nothing was applied."""


class DidNotShrink(CondenseError):
    """The result would be about as large as the original, so it was not applied."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The tokens that no condensation can take away, and the ``limit`` for a request."""

    system: int
    tools: int
    pinned: int
    newest: int
    limit: int

    @property
    def total(self) -> int:
        """All four parts together."""
        return self.system + self.tools + self.pinned + self.newest

    @property
    def advice(self) -> str:
        """The user's remedy for the largest part, as a sentence."""
        if self.newest == max(self.system + self.tools, self.pinned, self.newest):
            return noop(
                "Send the newest message in smaller parts, or choose a model with more room."
            )
        if self.pinned >= self.system + self.tools:
            return noop("Unpin what is not needed any more, or choose a model with more room.")
        return noop("Choose a model with a larger context window, or fewer tools.")

    def __str__(self) -> str:
        """Return the tokens of each part and the limit, as a sentence."""
        return say(
            "system prompt {system:,} + tools {tools:,} + pinned {pinned:,} + "
            "newest message {newest:,} tokens, and {limit:,} are allowed",
            **asdict(self),
        )


class EmbedderUnavailable(CondenseError):
    """No vectors can be made now; searches go by words."""


class CannotFit(CondenseError):
    """The context exceeds the limit and nothing more may be hidden; see its ``floor``."""

    floor: Floor | None = None


class SkipReason(enum.StrEnum):
    """The reasons to leave a file out, as sentences for people."""

    OUTSIDE = noop("It is outside the workspace.")
    IGNORED = noop("The ignore rules exclude it.")
    GONE = noop("It no longer exists.")
    NOT_A_FILE = noop("It is not a regular file.")
    UNREADABLE = noop("It cannot be read.")
    TOO_LARGE = noop("It is larger than 1 MB.")
    BINARY = noop("It is binary.")
    NO_GRAMMAR = noop("There is no grammar for this kind of file.")
    BROKEN = noop("No definition survives its syntax errors.")
    NOTHING = noop("It defines nothing.")
    TOO_SLOW = noop("It takes too long to parse.")
    CRASHED = noop("It crashes its parser.")
    NO_PARSER = noop("The parser could not be started.")
    REPEATED = noop("It is already folded under another spelling.")
    NO_ROOM = noop("There was no room left under the character limit.")
    NO_TIME = noop("There was no time left to fold it.")
    TOO_MUCH = noop("With it, the context would not have become small enough.")


class Unfoldable(Exception):
    """One file cannot be folded, for a ``reason``; never leaves ``condense.folded_files``."""

    def __init__(self, reason: SkipReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Convert a Rust library's panic (a BaseException) to RuntimeError."""
    try:
        yield
    except (Exception, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as panic:
        raise RuntimeError(f"{type(panic).__name__}: {panic}") from panic
