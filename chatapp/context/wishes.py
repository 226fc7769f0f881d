"""What a person asks of condensing while a turn runs: it begins after the step."""

import uuid
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Scope:
    """What is to be condensed: the messages from ``first`` to ``last``, by their numbers.

    With a ``call`` it is what that call, made in message ``first``, returned. It is done ``again``
    where message ``first`` is a summary, which is to be written from all its originals.
    """

    first: int
    last: int = 0
    call: str = ""
    again: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as a page asks for it."""
        if self.again:
            return {"first": self.first, "again": True}
        rest = {"call": self.call} if self.call else {"last": self.last}
        return {"first": self.first, **rest}


@dataclass(frozen=True, slots=True)
class Wish:
    """A condensation by hand: ``focus`` is what its summary should keep above all.

    With ``review`` a person looks at it before it applies. It is of all that the model has read,
    unless it has a ``scope``. One made ``while_idle`` was asked for once and for all, in the
    settings. Asked for again with the same ``nonce``, it is the same one.
    """

    nonce: uuid.UUID
    focus: str = ""
    review: bool = False
    scope: Scope | None = None
    while_idle: bool = False


class Wishes:
    """What was asked for during one run, and did not begin yet; the latest counts."""

    def __init__(self) -> None:
        """Begin without any."""
        self._awaited: Wish | None = None
        self._heard: set[uuid.UUID] = set()

    def ask(self, wish: Wish) -> bool:
        """Have it begin after the step; False where it was asked for before."""
        if wish.nonce in self._heard:
            return False
        self._heard.add(wish.nonce)
        self._awaited = wish
        return True

    def take(self) -> Wish | None:
        """Return what is to begin now, None where nothing was asked for, or it was taken back."""
        wish, self._awaited = self._awaited, None
        return wish
