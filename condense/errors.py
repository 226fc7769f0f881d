"""Every error the engine raises, as one tree.

CondenseError
├── InvalidMessage        a message or block that is not of the expected shape
├── UnknownMessage        an id that is not in the given history
├── UndoRefused           something later rests on what should be taken back
├── NothingToCondense     too few messages, or condensed a moment ago
├── SummaryFailed         the summary call failed or gave nothing usable
├── DidNotShrink          a rung left the context no smaller than it was
└── CannotFit             nothing that may be hidden is left, and it is still too large

Each carries technical details and the cost of what was tried.
"""

from decimal import Decimal


class CondenseError(Exception):
    """Base of every error raised by the engine; its text is a sentence for people."""

    def __init__(self, message: str, *, details: str = "", cost: Decimal = Decimal(0)) -> None:
        """Carry technical ``details`` to copy and the ``cost`` in USD already spent."""
        super().__init__(message)
        self.details = details
        self.cost = cost


class InvalidMessage(CondenseError):
    """A message or content block does not have the shape the Messages API gives it."""


class UnknownMessage(CondenseError):
    """The id names no message, summary, marker or rewind of the given history."""


class UndoRefused(CondenseError):
    """What should be taken back is already undone, or something later rests on it."""


class NothingToCondense(CondenseError):
    """There is nothing to hide: too few messages, or none since the last summary."""


class SummaryFailed(CondenseError):
    """The summary call raised, was refused, or answered without usable text."""


class DidNotShrink(CondenseError):
    """The result would not be smaller than what it replaces, so it was not applied."""


class CannotFit(CondenseError):
    """The context exceeds what is allowed and nothing more may be hidden."""
