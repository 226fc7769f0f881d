"""What became of each file: folded, or skipped for a reason that people can read."""

import enum
from dataclasses import dataclass


class Reason(enum.StrEnum):
    """Why a file was left out."""

    OUTSIDE = "outside the workspace"
    IGNORED = "excluded by the ignore rules"
    GONE = "no longer exists"
    NOT_A_FILE = "not a regular file"
    UNREADABLE = "cannot be read"
    TOO_LARGE = "larger than 1 MB"
    BINARY = "binary"
    NO_GRAMMAR = "no grammar for this kind of file"
    BROKEN = "no definition survives its syntax errors"
    NOTHING = "defines nothing"
    TOO_SLOW = "takes too long to parse"
    CRASHED = "crashes its parser"
    REPEATED = "already folded under another spelling"
    NO_ROOM = "no room left under the character limit"


class Unfoldable(Exception):
    """One file cannot be folded; never leaves this package."""

    def __init__(self, reason: Reason) -> None:
        """Keep the reason for the record."""
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out, spelled as it was asked for."""

    path: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Folded:
    """The signatures of some files.

    ``sections`` holds one ``<system-reminder>`` block for each path in ``included``; ``characters``
    is their length when joined by newlines, in UTF-16 code units as Roo Code counts.
    """

    sections: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    characters: int = 0
