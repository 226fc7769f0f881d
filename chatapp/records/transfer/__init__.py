"""Conversations as files: the pieces that a file is read as, and the form of written records."""

from dataclasses import dataclass
from typing import Any

from chatapp.models import errors


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of no use: the ``index`` of the item, from 1, and the reason as a sentence.

    A reason that holds for all items has the index 0.
    """

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Begin:
    """Another conversation of a file begins; the ``title`` is its name in the file."""

    title: str


@dataclass(frozen=True, slots=True)
class Beside:
    """An item of a file other than a message, in a ``section`` of docs/export.md."""

    section: str
    item: dict[str, Any]


class Unusable(errors.Refused):
    """The whole file can't be imported; the text is the reason."""


# Part of each record, see docs/export.md; a form that is read otherwise gets another name.
FORMAT = "palimpsest conversation 1"

# A message has ``role`` and ``content`` as condense.Message.from_api takes them, and if known the
# other keys of messages in docs/export.md.
Piece = dict[str, Any] | Begin | Beside | Problem
