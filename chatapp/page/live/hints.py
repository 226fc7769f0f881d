"""Hints: messages between processes that something was stored; each may get lost.

A process that misses one finds the change in the rows, a little later.
"""

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OfConversation:
    """A hint about one conversation."""

    conversation: uuid.UUID


@dataclass(frozen=True, slots=True)
class OfUser:
    """A hint about one user."""

    user: int


@dataclass(frozen=True, slots=True)
class TurnOpened(OfConversation):
    """A turn is on record and will run; message ``question`` began it, unless that is 0.

    Without it, messages may have been set aside.
    """

    turn: uuid.UUID
    question: int = 0


@dataclass(frozen=True, slots=True)
class TurnRequested(OfConversation):
    """A person asked something of a running turn, named by its id or its nonce, or of any."""

    turn: uuid.UUID | None
    kind: str
    nonce: uuid.UUID


class Answered(OfConversation):
    """A person answered a question of a conversation's turn, or its review."""


class ConversationChanged(OfConversation):
    """A conversation was changed by something other than its running turn."""


class ContextNews(OfConversation):
    """The line about a conversation's context, at the composer, has changed."""


class QueueChanged(OfConversation):
    """Other messages of a conversation wait."""


class TitleChanged(OfConversation):
    """A conversation has another title."""


@dataclass(frozen=True, slots=True)
class SavingDelayed(OfConversation):
    """A turn's follow-up could not be stored; it is tried again ``until`` then (Unix seconds).

    With 0 it is stored.
    """

    until: float = 0


class ConversationDeleted(OfConversation):
    """A conversation is gone, and its pages have to go."""


@dataclass(frozen=True, slots=True)
class ListChanged(OfUser):
    """A user's list of conversations has changed, except on pages of the one ``but``."""

    but: uuid.UUID | None = None


class UserChanged(OfUser):
    """A user's settings, profiles or tool servers have changed."""


class SessionsEnded(OfUser):
    """Some of a user's sessions may have ended: pages have to come back, if they still may."""


@dataclass(frozen=True, slots=True)
class ChannelRestored:
    """This process receives hints again, and may have missed some."""


Hint = (
    TurnOpened | TurnRequested | Answered | ConversationChanged | ContextNews | QueueChanged
    | TitleChanged | SavingDelayed | ConversationDeleted | ListChanged | UserChanged | SessionsEnded
    | ChannelRestored
)  # fmt: skip
