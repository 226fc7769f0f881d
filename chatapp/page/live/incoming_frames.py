"""The WebSocket's messages: this file and ``outgoing_frames`` alone know the wire's JSON keys.

Browser → server: ``message.send``, ``turn.retry``, ``turn.continue``, ``turn.regenerate``,
``turn.stop``, ``queue.change``, ``queue.remove``, ``queue.send``, ``condense.start``,
``condense.cancel``, ``condense.put_off``, ``ping``. A frame that begins something has a nonce, and
one that ends something names the turn, so that one sent twice, or late, does no harm. Server →
browser: everything in ``outgoing_frames``. A frame that shows something carries HTML made by the
page's own templates. Frames to all watchers are numbered by ``change``, from 1 in each ``epoch``: a
page shows each once, in order, and comes back for those it missed.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import condense
from chatapp.conversations.context.condense_requests import CondenseRequest, CondenseScope

SIGN_IN_REQUIRED = 4401
NOT_YOURS = 4403

# Bytes of one message to the server: the longest text, as JSON at its worst.
LARGEST_COMMAND = 4 * 1024 * 1024

# Ids in one frame; how many a message may have is the service's to say.
MOST_ATTACHMENTS = 1_000


class BadFrame(Exception):
    """The browser sent something that is not part of the protocol."""


@dataclass(frozen=True, slots=True)
class SendMessage:
    """A message that starts a turn."""

    text: str
    nonce: uuid.UUID  # makes a repeated send harmless
    replaces: int | None = None  # seq of the user's message that this is an edit of
    attachments: tuple[uuid.UUID, ...] = ()  # ids of its files
    queued: bool = False  # it may wait while a turn runs
    literal: bool = False  # no commands or paths
    zone: str = ""  # time zone of its sender's browser
    drops: tuple[int, ...] = ()  # places of blocks that are not copied from the replaced one


@dataclass(frozen=True, slots=True)
class ChangeQueued:
    """Change the text of the queued message of this nonce; None removes the message.

    A ``literal`` text has no commands or paths: it is taken as it is.
    """

    nonce: uuid.UUID
    text: str | None = None
    literal: bool = False


@dataclass(frozen=True, slots=True)
class SendQueued:
    """Send the queued message of this nonce now; a running turn is stopped first."""

    nonce: uuid.UUID


@dataclass(frozen=True, slots=True)
class TakeUp:
    """Start a turn without a new message: ``how`` is "retry", "continue" or "regenerate"."""

    how: str
    nonce: uuid.UUID
    seq: int = 0  # the answer to regenerate
    profile: int | None = None  # answers this once, if given
    zone: str = ""  # time zone of the browser


@dataclass(frozen=True, slots=True)
class StopTurn:
    """Stop the turn of this id or nonce, and a condensation within it."""

    turn: uuid.UUID


@dataclass(frozen=True, slots=True)
class CancelCondensing:
    """Cancel the condensation that runs or waits within a turn or is one, and nothing else."""

    turn: uuid.UUID


@dataclass(frozen=True, slots=True)
class PutOffCondensing:
    """Have the next condensation that would begin by itself wait for one turn."""


@dataclass(frozen=True, slots=True)
class Ping:
    """Ask for a sign of life."""


Queueing = ChangeQueued | SendQueued
Condensing = CondenseRequest | CancelCondensing | PutOffCondensing
Command = SendMessage | Queueing | TakeUp | StopTurn | Condensing | Ping


def decode(text: str) -> Command:
    """Return the command in one text frame; raise BadFrame for anything else."""
    try:
        frame = condense.well_formed_json(json.loads(text))
        command = _sent(frame) or _begun(frame)
    except (ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from error
    if command is None:
        raise BadFrame("unknown type")
    return command


def _sent(frame: object) -> SendMessage | Queueing | None:
    match frame:
        case {"type": "message.send", "text": str(text), "nonce": str(nonce), **rest}:
            replaces = rest.get("replaces")
            if not isinstance(replaces, int | None):
                raise BadFrame("replaces is a number")
            queued = rest.get("queued") is True and replaces is None
            literal = rest.get("literal") is True or replaces is not None
            attached = _ids(rest["attachments"]) if "attachments" in rest else ()
            drops = _places(rest["drops"]) if "drops" in rest else ()
            return SendMessage(
                text, uuid.UUID(nonce), replaces, attached, queued, literal, drops=drops
            )
        case {"type": "queue.change", "nonce": str(nonce), "text": str(text), **rest}:
            return ChangeQueued(uuid.UUID(nonce), text, rest.get("literal") is True)
        case {"type": "queue.remove", "nonce": str(nonce)}:
            return ChangeQueued(uuid.UUID(nonce))
        case {"type": "queue.send", "nonce": str(nonce)}:
            return SendQueued(uuid.UUID(nonce))
    return None


def _begun(frame: object) -> Command | None:
    match frame:
        case {
            "type": "turn.retry" | "turn.continue" | "turn.regenerate" as name,
            "nonce": str(nonce),
            "seq": int(seq),
            **rest,
        }:
            profile = rest.get("profile")
            if not (profile is None or type(profile) is int):
                raise BadFrame("profile is a number")
            return TakeUp(name.removeprefix("turn."), uuid.UUID(nonce), seq, profile)
        case {"type": "condense.start", "nonce": str(nonce), **rest}:
            focus = str(rest.get("focus", ""))
            review = rest.get("review") is True
            return CondenseRequest(uuid.UUID(nonce), focus, review, _scope(rest))
        case {"type": "ping"}:
            return Ping()
    return _stopped(frame)


def _stopped(frame: object) -> Command | None:
    match frame:
        case {"type": "turn.stop", "turn": str(turn)}:
            return StopTurn(uuid.UUID(turn))
        case {"type": "condense.cancel", "turn": str(turn)}:
            return CancelCondensing(uuid.UUID(turn))
        case {"type": "condense.put_off"}:
            return PutOffCondensing()
    return None


def _scope(fields: Mapping[Any, Any]) -> CondenseScope | None:
    """Return the scope to condense, None for all: numbers of messages, or a call in one."""
    match fields:
        case {"first": int(first), "last": int(last)} if type(first) is type(last) is int:
            return CondenseScope(first, last)
        case {"first": int(first), "call": str(call)} if type(first) is int:
            return CondenseScope(first, call=call)
        case {"first": int(first), "again": True} if type(first) is int:
            return CondenseScope(first, again=True)
        case {"first": _} | {"last": _} | {"call": _}:
            raise BadFrame("a scope has a first number, and a last one or a call")
    return None


def _places(drops: Any) -> tuple[int, ...]:
    """Return the places of the blocks that an edit drops."""
    match drops:
        case [*places] if all(type(one) is int for one in places):
            return tuple(places)
    raise BadFrame("drops are a list of numbers")


def _ids(attachments: Any) -> tuple[uuid.UUID, ...]:
    """Return the ids of the attachments, each once."""
    match attachments:
        case [*ids] if len(ids) <= MOST_ATTACHMENTS and all(isinstance(one, str) for one in ids):
            return tuple(dict.fromkeys(map(uuid.UUID, ids)))
    raise BadFrame("attachments are a list of ids")
