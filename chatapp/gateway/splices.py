"""Splices: summaries and recalled passages between the items of a client's request.

Nothing else of its bytes changes, but for thinking that is bound to another beginning. All that is
put in is on record, so that each later request has it again, byte for byte.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chatapp.gateway.bodies import Body, read_body
from chatapp.gateway.dialects import Dialect
from chatapp.gateway.naming import DigestedMessage
from chatapp.records.transfer.source_texts import fields, joined, listed


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """The record of a message in a request."""

    is_hidden: bool = False  # by a summary
    recalled: str = ""  # passages
    view: bytes = b""  # of an answer: digest of all in its request that was not the client's


@dataclass(slots=True)
class Splicer:
    """Splices one request: its ``entries`` are on record in ``places``.

    ``summaries`` have the number of the last message that they hide, in order, and their texts. A
    summary begins the next message if that is the user's, or else is one. Hidden messages of the
    system follow it as one. ``parts`` are made, each with the number of its message or -1, and the
    answer's ``view``; ``unbound`` is true for messages that go without their thinking.
    """

    dialect: Dialect
    entries: Sequence[DigestedMessage]
    places: Sequence[MessageRecord]
    summaries: list[tuple[int, str]]
    parts: list[tuple[bytes, int]] = field(default_factory=list)
    view: bytes = b""
    unbound: dict[int, bool] = field(default_factory=dict)
    _told: list[bytes] = field(default_factory=list)
    _hides: bool = False

    def splice(self, body: Body, items: Sequence[int]) -> None:
        """Make the parts; ``items`` have the numbers of their entries. Raises ValueError."""
        values = listed(body.value.get(self.dialect.history))
        found = [*zip(values, body.parts, items, strict=True)]
        # A message without words counts as part of the one beside it.
        ends = {number: raw for value, raw, number in found if fields(value).get("role") == "user"}
        for value, raw, number in found:
            if number >= 0 and self.entries[number].is_told and (self._hides or self._told):
                self._told.append(raw)
            elif number < 0 or self.entries[number].is_told:
                self.parts.append((raw, number))
            elif self.places[number].is_hidden:
                self._hides = True
            else:
                self._show(raw, value, number, is_last=ends.get(number) is raw)
        self._end_told()

    def _show(self, raw: bytes, value: Any, number: int, *, is_last: bool) -> None:
        begins = "\n\n".join([text for last, text in self.summaries if last < number])
        self.summaries = [one for one in self.summaries if one[0] >= number]
        if begins:
            self._hides = False
            self._see(begins.encode())
        if begins and fields(value).get("role") == "user":
            raw = with_text(raw, begins, self.dialect, first=True)
        else:
            own = json.dumps({"role": "user", "content": begins}).encode()
            self.parts += [(own, -1)] if begins else []
            self._end_told()
        if self._is_unbound(number):
            body, bound = read_body(raw, "content"), self.dialect.bound
            kept = [one for one in body.parts if fields(json.loads(one)).get("type") not in bound]
            raw = body.head + b",".join(kept) + body.tail if kept else b""
        if is_last and (recalled := self.places[number].recalled):
            raw = with_text(raw, recalled, self.dialect)
            self._see(recalled.encode())
        self.parts += [(raw, number)] if raw else []

    def _see(self, said: bytes) -> None:
        self.view = hashlib.sha256(self.view + said).digest()

    def _is_unbound(self, number: int) -> bool:
        """Return True if an answer's thinking was made for another beginning than this one."""
        if number not in self.unbound:
            kinds = {one.get("type") for one in self.entries[number].content}
            is_other = self.places[number].view != self.view
            self.unbound[number] = is_other and not kinds.isdisjoint(self.dialect.bound)
            if self.unbound[number]:
                self._see(self.entries[number].digest)
        return self.unbound[number]

    def _end_told(self) -> None:
        for first in self._told[:1]:
            more = [read_body(one, "content").value.get("content") for one in self._told[1:]]
            said = joined(more)
            self.parts.append((with_text(first, said, self.dialect) if said else first, -1))
        self._told.clear()


def with_text(item: bytes, text: str, dialect: Dialect, *, first: bool = False) -> bytes:
    """Return a message with one more text at its end, or ``first``; raise ValueError."""
    body = read_body(item, "content", any_value=True)
    content, parts = body.value.get("content"), [*body.parts]
    if not content or not isinstance(content, list | str):
        raise ValueError("a message without content")
    if isinstance(content, str) and dialect.merged:
        said = json.dumps(text).encode()
        one, other = (said, parts[0]) if first else (parts[0], said)
        return body.head + one[:-1] + rb"\n\n" + other[1:] + body.tail
    form = b'{"type": "%b", "text": %%b}' % dialect.text.encode()
    parts = [form % parts[0]] if isinstance(content, str) else parts
    block = form % json.dumps(text).encode()
    whole = b",".join([block, *parts] if first else [*parts, block])
    return body.head + (b"[%b]" % whole if isinstance(content, str) else whole) + body.tail
