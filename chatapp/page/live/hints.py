"""Hints: word that something was stored, for those whom it concerns; each may get lost.

Whoever misses one finds the same in the rows, a little later.
"""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TurnOpened:
    """A turn is on record and will run; message ``question`` began it, unless that is 0.

    Without it, messages may have been set aside.
    """

    conversation: uuid.UUID
    turn: uuid.UUID
    question: int = 0


@dataclass(frozen=True, slots=True)
class TurnRequested:
    """A person asked something of a running turn, named by its id or its nonce, or of any."""

    conversation: uuid.UUID
    turn: uuid.UUID | None
    kind: str
    nonce: uuid.UUID


@dataclass(frozen=True, slots=True)
class Answered:
    """A person answered a question of a conversation's turn, or its review."""

    conversation: uuid.UUID


@dataclass(frozen=True, slots=True)
class ConversationChanged:
    """A conversation was changed by something other than its running turn."""

    conversation: uuid.UUID


@dataclass(frozen=True, slots=True)
class ContextNews:
    """The line about a conversation's context, at the composer, has changed."""

    conversation: uuid.UUID


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """Other messages of a conversation wait."""

    conversation: uuid.UUID


@dataclass(frozen=True, slots=True)
class TitleChanged:
    """A conversation has another title."""

    conversation: uuid.UUID


@dataclass(frozen=True, slots=True)
class SavingDelayed:
    """A turn's follow-up could not be stored; it is tried again ``until`` then (Unix seconds).

    With 0 it is stored.
    """

    conversation: uuid.UUID
    until: float = 0


@dataclass(frozen=True, slots=True)
class ConversationDeleted:
    """A conversation is gone, and its pages have to go."""

    conversation: uuid.UUID


@dataclass(frozen=True, slots=True)
class ListChanged:
    """A user's list of conversations has changed, except on pages of the one ``but``."""

    user: int
    but: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class UserChanged:
    """A user's settings, profiles or tool servers have changed."""

    user: int


@dataclass(frozen=True, slots=True)
class SessionsEnded:
    """Some of a user's sessions may have ended: pages have to come back, if they still may."""

    user: int


@dataclass(frozen=True, slots=True)
class ChannelRestored:
    """This process receives hints again, and may have missed some."""


Hint = (
    TurnOpened | TurnRequested | Answered | ConversationChanged | ContextNews | QueueChanged
    | TitleChanged | SavingDelayed | ConversationDeleted | ListChanged | UserChanged | SessionsEnded
    | ChannelRestored
)  # fmt: skip
