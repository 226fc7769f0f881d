"""The log of requests: the bytes of each call, of which only new parts are stored."""

import hashlib
import operator
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

import condense
from chatapp.agent.events import SentRequest
from chatapp.models import Fragment, Manifest, Message, ModelCall
from chatapp.models.database import SqlStatement, insert, together
from chatapp.providers import request_bytes

# Parts of most lists, so that they take hardly any room.
OFTEN = (
    b'],"stream":true,"diagnostics":{"previous_message_id":null}}'
    b'],"stream":true,"diagnostics":{"previous_message_id":"msg_01"}}'
    b'"},{"type":"text","text":",\\"cache_control\\":{\\"type\\":\\"ephemeral\\"}}]}"]'
)
# Keys of a stored block that are for the app alone.
UNTOLD = frozenset({condense.BESIDE, condense.USER_WORDS})
RAW = -15
# Text that comes from no message: a longer one may come again, and is kept once. Text around images
# may be longer: so small a part of them is not worth keeping twice.
LONGEST_TEXT = 200
SMALL_PART = 100
# A shorter text is not worth a search.
SHORTEST_COPY = 24

Copy = tuple[int, int, int]
Item = int | tuple[int] | tuple[Copy | str, ...]


class Stored(NamedTuple):
    """A message as it is stored: its number, its JSON, and the places of its blocks in that."""

    seq: int
    text: str
    blocks: Sequence[tuple[int, int]]


def plain(role: str, content: object) -> bytes:
    """Return a stored message's bytes as it is sent without changes."""
    return request_bytes.encode({"role": role, "content": content})


def stored(seq: int, role: str, content: object) -> Stored:
    """Return a message with the places of its blocks, without the braces that close them."""
    text = plain(role, content).decode()
    start = text.index('"content":') + len('"content":') + 1
    if not isinstance(content, list):
        return Stored(seq, text, [(start, len(text) - 2)])
    places = []
    for block in content:
        said = request_bytes.encode(block).decode()
        told = {name: value for name, value in block.items() if name not in UNTOLD}
        # All that may be sent as it is, without the closing brace and the app's own keys.
        is_last = [*told] == [*block][: len(told)]
        sent = request_bytes.encode(told).decode() if is_last else said
        places.append((start, start + len(sent) - 1))
        match block:
            # An image may be sent in another shape with the same data.
            case {"type": "image", "source": {"data": str(data)}}:
                begin = start + said.find(data)
                places.append((begin, begin + len(data)))
        start += len(said) + 1
    return Stored(seq, text, places)


def _pieces(sent: str, sources: Sequence[Stored]) -> Iterator[Copy | str]:
    """Yield copies of stored parts, and the text between them."""
    at = 0
    for place, copy in _copies(sent, sources):
        if place > at:
            yield sent[at:place]
        yield copy
        at = place + copy[2] - copy[1]
    if at < len(sent):
        yield sent[at:]


def _copies(sent: str, sources: Sequence[Stored]) -> Iterator[tuple[int, Copy]]:
    """Yield the places of stored parts that were sent: a beginning, blocks, and an end."""
    first, last = sources[0], sources[-1]
    found = sorted(
        (sent.find(one.text[start:end]), (one.seq, start, end))
        for one in sources
        for start, end in one.blocks
        if end - start >= SHORTEST_COPY
    )
    blocks = [(place, copy) for place, copy in found if place >= 0]
    at = min([common(sent, first.text), *(place for place, _ in blocks)])
    if blocks and blocks[0][0] == at and blocks[0][1][:2] == (first.seq, at):
        # The first block goes on where the beginning ends.
        at = blocks.pop(0)[1][2]
    yield 0, (first.seq, 0, at)
    for place, copy in blocks:
        if place >= at:
            yield place, copy
            at = place + copy[2] - copy[1]
    size = len(last.text)
    same = common(sent[: at - 1 : -1], last.text[::-1])
    if same >= SHORTEST_COPY:
        yield len(sent) - same, (last.seq, size - same, size)


def common(one: str, other: str) -> int:
    """Return the length of two texts' common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def pack(items: Iterable[Item], tail: bytes) -> bytes:
    """Return the items, and the bytes behind the messages, in their stored form."""
    squeezed = zlib.compressobj(9, wbits=RAW, zdict=OFTEN)
    said = request_bytes.encode([in_runs(items), tail.decode()])
    return squeezed.compress(said) + squeezed.flush()


def in_runs(items: Iterable[Item]) -> list[Any]:
    """Return the items, with messages that follow each other as one: the first and the last."""
    runs: list[Any] = []
    for item in items:
        match runs[-1:], item:
            case [int(first)], int() if item == first + 1:
                runs[-1] = [first, item]
            case [[first, int(last)]], int() if item == last + 1:
                runs[-1] = [first, item]
            case _:
                runs.append(item)
    return runs


def unpack(data: bytes) -> tuple[tuple[Item, ...], bytes]:
    """Return the stored items, and the bytes behind the messages."""
    squeezed = zlib.decompressobj(wbits=RAW, zdict=OFTEN)
    match request_bytes.decode(squeezed.decompress(data) + squeezed.flush()):
        case [[*items], str(tail)]:
            return tuple(out_of_runs(items)), tail.encode()
    raise ValueError(data)


def out_of_runs(items: Iterable[object]) -> Iterator[Item]:
    """Yield the items of a list that was stored."""
    for one in items:
        match one:
            case int(seq):
                yield seq
            case [int(pk)]:
                yield (pk,)
            case [int(first), int(last)]:
                yield from range(first, last + 1)
            case [*pieces]:
                yield tuple(map(_piece, pieces))


def _piece(one: object) -> Copy | str:
    match one:
        case str(text):
            return text
        case [int(seq), int(start), int(end)]:
            return seq, start, end
    raise ValueError(one)


# Lists that are written as differences before one is whole again.
LONGEST_CHAIN = 64
# Messages in a row that may have become one in a request.
MOST_MERGED = 32

Key = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The state of a run's record: the last call, its list, and the items for known bytes."""

    call: int | None = None
    length: int = 0
    items: tuple[Item, ...] = ()
    known: Mapping[Key, Item] = field(default_factory=dict)
    fragments: Mapping[bytes, int] = field(default_factory=dict)  # keys of stored ones by bytes


class Compared(NamedTuple):
    """The items of a request, as far as they are stored, and its new fragments by their digests."""

    items: Mapping[Key, Item | None]
    parts: Mapping[bytes, bytes]


@dataclass(slots=True)
class RequestLog:
    """Stores the requests of one run's calls; each costs only its new part."""

    conversation_id: uuid.UUID
    written: RecordedRun = field(default_factory=RecordedRun)  # committed; the next builds on it
    _stored: dict[int, tuple[str, object]] = field(default_factory=dict)

    def learn(self, rows: Iterable[Message]) -> None:
        """Take the rows of messages that may be sent."""
        self._stored |= {row.seq: (row.role, row.content) for row in rows}

    def knows(self, seq: int) -> bool:
        """Return True if the row of a message was taken."""
        return seq in self._stored

    def compare(self, request: SentRequest | None) -> Compared:
        """Return the parts of a request that are new."""
        if request is None:
            return Compared({}, {})
        before = self.written
        keys = zip(request.seqs, request.fragments, strict=True)
        # None for a message that is not stored.
        found = {
            key: before.known.get(key) or self._item(*key, end)
            for key, end in zip(keys, (*request.seqs[1:], 0), strict=True)
        }
        loose = [sent for (_seq, sent), item in found.items() if item is None]
        parts = [part for part in (request.head, *loose) if part not in before.fragments]
        return Compared(found, {hashlib.sha256(part).digest(): part for part in parts})

    def looking(self, compared: Compared) -> SqlStatement:
        """Return a query for the fragments that are stored already."""
        if not compared.parts:
            return SqlStatement("SELECT id, digest FROM chatapp_fragment WHERE FALSE")
        places = ", ".join(["%s"] * len(compared.parts))
        sql = "SELECT id, digest FROM chatapp_fragment WHERE conversation_id = %s AND digest IN "
        return SqlStatement(f"{sql}({places})", (self.conversation_id, *compared.parts))

    def store(
        self,
        call: ModelCall,
        request: SentRequest | None,
        compared: Compared,
        stored: Sequence[tuple[int, bytes]],
    ) -> RecordedRun:
        """Store a call with the record of its request; ``stored`` is the result of ``looking``."""
        before = self.written
        if request is None:
            together(insert.query(call))
            return before
        pks = {bytes(digest): pk for pk, digest in stored}
        new = [
            Fragment(conversation_id=self.conversation_id, digest=digest, data=zlib.compress(part))
            for digest, part in compared.parts.items()
            if digest not in pks
        ]
        if new:
            together(*map(insert.query, new))
        pks |= {bytes(one.digest): one.pk for one in new}
        fragments = {**before.fragments}
        fragments |= {part: pks[digest] for digest, part in compared.parts.items()}
        known = {key: item or (fragments[key[1]],) for key, item in compared.items.items()}
        items = tuple([known[key] for key in zip(request.seqs, request.fragments, strict=True)])
        kept = len([*takewhile(bool, map(operator.eq, before.items, items))])
        if not kept or before.length >= LONGEST_CHAIN:
            before, kept = RecordedRun(), 0
        manifest = Manifest(
            parent=before.call,
            kept=kept,
            data=pack(items[kept:], request.tail),
            head_id=fragments[request.head],
            digest=request.digest,
        )
        together(insert.query(call), partial(_manifest_of, call, manifest))
        return RecordedRun(call.pk, before.length + 1, items, known, fragments)

    def _item(self, seq: int, sent: bytes, end: int) -> Item | None:
        """Return a message of a request as parts of stored ones, None if that saves too little.

        It may be made of all that are stored up to ``end``.
        """
        if seq not in self._stored:
            return None
        if sent == plain(*self._stored[seq]):
            return seq
        last = end if end > seq else max(self._stored) + 1
        seqs = range(seq, min(last, seq + MOST_MERGED))
        sources = [stored(one, *self._stored[one]) for one in seqs if one in self._stored]
        pieces = tuple(_pieces(sent.decode(), sources))
        said = sum([len(piece) for piece in pieces if isinstance(piece, str)])
        return pieces if said <= max(LONGEST_TEXT, len(sent) // SMALL_PART) else None


def _manifest_of(call: ModelCall, manifest: Manifest) -> SqlStatement:
    manifest.call_id = call.pk
    return insert.query(manifest)
