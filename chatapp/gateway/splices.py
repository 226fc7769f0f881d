"""Splices: summaries and recalled passages between the items of a client's request.

Nothing else of its bytes changes, but for thinking that is bound to another beginning. All that is
put in is on record, so that each later request has it again, byte for byte.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatapp.gateway.bodies import Body, read_body
from chatapp.gateway.dialects import Dialect
from chatapp.gateway.naming import Entry
from chatapp.transfer.source_texts import fields, joined, listed


@dataclass(frozen=True, slots=True)
class Place:
    """The record of a message in a request: if a summary hides it, and what was recalled with it.

    An answer has the ``view`` of its request: a digest of all in it that was not the client's.
    """

    is_hidden: bool = False
    recalled: str = ""
    view: bytes = b""


@dataclass(slots=True)
class Spliced:
    """A request's items as they go out, each with the number of its message, -1 for none.

    ``view`` is that of its answer. ``unbound`` are the messages that go without their thinking.
    """

    parts: list[tuple[bytes, int]] = field(default_factory=list)
    view: bytes = b""
    unbound: list[int] = field(default_factory=list)

    def see(self, said: bytes) -> None:
        """Take in that the next items stand behind something that is not the client's."""
        self.view = hashlib.sha256(self.view + said).digest()


@dataclass(slots=True)
class Splicer:
    """Splices one request: its ``entries`` are on record in ``places``.

    ``summaries`` have the number of the last message that they hide, in order, and their texts. A
    summary begins the next message if that is the user's, and is a message of its own otherwise.
    What has a system prompt's authority among hidden messages comes behind it, as one message.
    """

    dialect: Dialect
    entries: Sequence[Entry]
    places: Sequence[Place]
    summaries: list[tuple[int, str]]
    made: Spliced = field(default_factory=Spliced)
    _told: list[bytes] = field(default_factory=list)
    _hides: bool = False
    _bound: dict[int, bool] = field(default_factory=dict)

    def splice(self, body: Body, items: Sequence[int]) -> Spliced:
        """Return the request; ``items`` have the numbers of their entries. Raises ValueError."""
        values = listed(body.value.get(self.dialect.history))
        places = [*zip(values, body.parts, items, strict=True)]
        # What says nothing counts as part of the message before it.
        ends = {number: raw for value, raw, number in places if is_users(value)}
        for value, raw, number in places:
            if number < 0:
                self.made.parts.append((raw, number))
            elif self.entries[number].is_told:
                self._tell(raw, number)
            elif self.places[number].is_hidden:
                self._hides = True
            else:
                self._show(raw, value, number, is_last=ends.get(number) is raw)
        self._end_told()
        return self.made

    def _tell(self, raw: bytes, number: int) -> None:
        if self._hides or self._told:
            self._told.append(raw)
        else:
            self.made.parts.append((raw, number))

    def _show(self, raw: bytes, value: Any, number: int, *, is_last: bool) -> None:
        entry, recalled = self.entries[number], self.places[number].recalled
        begins = "\n\n".join([text for last, text in self.summaries if last < number])
        self.summaries = [one for one in self.summaries if one[0] >= number]
        self._hides = self._hides and not begins
        if begins and is_users(value):
            raw = with_text(raw, begins, self.dialect, first=True)
        elif begins:
            self.made.parts.append((json.dumps({"role": "user", "content": begins}).encode(), -1))
        if begins:
            self.made.see(begins.encode())
        if not (begins and is_users(value)):
            self._end_told()
        if entry.role == "assistant" and self._is_unbound(number):
            raw = self._without_thinking(raw, value)
        if recalled and is_last:
            raw = with_text(raw, recalled, self.dialect)
            self.made.see(recalled.encode())
        if raw:
            self.made.parts.append((raw, number))

    def _is_unbound(self, number: int) -> bool:
        """Return True for an answer whose thinking stood behind other items than now."""
        if number not in self._bound:
            entry, is_other = self.entries[number], self.places[number].view != self.made.view
            thinks = any(one.get("type") in self.dialect.bound for one in entry.content)
            self._bound[number] = thinks and is_other
            if self._bound[number]:
                self.made.unbound.append(number)
                self.made.see(entry.digest)
        return self._bound[number]

    def _without_thinking(self, raw: bytes, value: Mapping[str, Any]) -> bytes:
        """Return a message without thinking, b"" if nothing else is in it."""
        body = read_body(raw, "content")
        blocks = zip(body.parts, listed(value.get("content")), strict=False)
        kept = [part for part, one in blocks if fields(one).get("type") not in self.dialect.bound]
        return body.head + b",".join(kept) + body.tail if kept else b""

    def _end_told(self) -> None:
        """Add what has a system prompt's authority, as one message for each role."""
        found: dict[object, bytes] = {}
        for raw in self._told:
            value = read_body(raw, "content").value
            role, before = value.get("role"), found.get(value.get("role"))
            said = joined(value.get("content"))
            found[role] = with_text(before, said, self.dialect) if before and said else raw
        self.made.parts += [(one, -1) for one in found.values()]
        self._told.clear()


def is_users(item: Any) -> bool:
    """Return True for an item with words of the user's."""
    return fields(item).get("role") == "user"


def with_text(item: bytes, text: str, dialect: Dialect, *, first: bool = False) -> bytes:
    """Return a message with one more text at its end, or ``first``; raise ValueError."""
    body = read_body(item, "content", any_value=True)
    content, parts, opening, closing = body.value.get("content"), [*body.parts], b"", b""
    if isinstance(content, str) and dialect.merged:
        said = json.dumps(f"{text}\n\n" if first else f"\n\n{text}").encode()
        parts = [said[:-1] + parts[0][1:] if first else parts[0][:-1] + said[1:]]
        return body.head + parts[0] + body.tail
    if isinstance(content, str):
        opening, closing = b"[", b"]"
        parts = [b'{"type": "%b", "text": %b}' % (dialect.text.encode(), parts[0])]
    elif not (content and isinstance(content, list)):
        raise ValueError("a message without content")
    block = json.dumps({"type": dialect.text, "text": text}).encode()
    parts = [block, *parts] if first else [*parts, block]
    return body.head + opening + b",".join(parts) + closing + body.tail
