"""The log of requests: the bytes of each call, of which it stores what is new."""

import hashlib
import operator
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import NamedTuple

from django.db import models

import condense
from chatapp.agent.provider_port import SentRequest
from chatapp.models import Fragment, Manifest, Message
from chatapp.models.database import insert, prepared
from chatapp.providers import request_bytes

# What most lists say, so that it takes hardly any room in them.
OFTEN = (
    b'],"stream":true,"diagnostics":{"previous_message_id":null}}'
    b'],"stream":true,"diagnostics":{"previous_message_id":"msg_01"}}'
    b'"},{"type":"text","text":",\\"cache_control\\":{\\"type\\":\\"ephemeral\\"}}]}"]'
)
RAW = -15
# Text that comes from no message: where it is longer, it may come again, and is kept once. What
# stands around images may be longer: so small a part of them is not worth keeping them twice.
LONGEST_TEXT = 200
SMALL_PART = 100
# What is shorter than this is not worth looking for.
SHORTEST_COPY = 24

Copy = tuple[int, int, int]
Item = int | tuple[int] | tuple[Copy | str, ...]


class Stored(NamedTuple):
    """A message as it is stored: its number, its JSON, and where in that its blocks are."""

    seq: int
    text: str
    blocks: Sequence[tuple[int, int]]


def plain(role: str, content: object) -> bytes:
    """Return a stored message as it is sent where nothing is done to it."""
    return request_bytes.encode({"role": role, "content": content})


def stored(seq: int, role: str, content: object) -> Stored:
    """Return a message with the places of its blocks, without the braces that close them."""
    text = plain(role, content).decode()
    start = text.index('"content":') + len('"content":') + 1
    if not isinstance(content, list):
        return Stored(seq, text, [(start, len(text) - 2)])
    lengths = [len(request_bytes.encode(block).decode()) + 1 for block in content]
    starts = accumulate(lengths, initial=start)
    places = [
        (first + begin, first + end)
        for first, block in zip(starts, content, strict=False)
        for begin, end in _sent_of(block)
    ]
    return Stored(seq, text, places)


def _sent_of(block: Mapping[str, object]) -> Iterator[tuple[int, int]]:
    """Yield what of a block may be sent as it is: all but its brace and what no API is told.

    An image may go out in another shape, which holds the same data.
    """
    marks = {condense.BESIDE, condense.USER_WORDS}
    told = {name: value for name, value in block.items() if name not in marks}
    is_last = [*told] == [*block][: len(told)]
    yield 0, len(request_bytes.encode(told if is_last else block).decode()) - 1
    match block:
        case {"type": "image", "source": {"data": str(data)}}:
            begin = request_bytes.encode(block).decode().find(data)
            yield begin, begin + len(data)


def item_for(sent: str, sources: Sequence[Stored]) -> Item | None:
    """Return what was sent as parts of stored messages, None where that is of little use."""
    if sent == sources[0].text:
        return sources[0].seq
    pieces = tuple(_pieces(sent, sources))
    said = sum(len(piece) for piece in pieces if isinstance(piece, str))
    return pieces if said <= max(LONGEST_TEXT, len(sent) // SMALL_PART) else None


def _pieces(sent: str, sources: Sequence[Stored]) -> Iterator[Copy | str]:
    """Yield copies of what is stored, and the text between them."""
    at = 0
    for place, copy in _copies(sent, sources):
        if place > at:
            yield sent[at:place]
        yield copy
        at = place + copy[2] - copy[1]
    if at < len(sent):
        yield sent[at:]


def _copies(sent: str, sources: Sequence[Stored]) -> Iterator[tuple[int, Copy]]:
    """Yield where parts of stored messages were sent: a beginning, blocks, and an end."""
    first, last = sources[0], sources[-1]
    found = sorted(
        (sent.find(one.text[start:end]), (one.seq, start, end))
        for one in sources
        for start, end in one.blocks
        if end - start >= SHORTEST_COPY
    )
    blocks = [(place, copy) for place, copy in found if place >= 0]
    at = min([_common(sent, first.text), *(place for place, _ in blocks)])
    if blocks and blocks[0][0] == at and blocks[0][1][:2] == (first.seq, at):
        # The first block goes on where the beginning ends.
        at = blocks.pop(0)[1][2]
    yield 0, (first.seq, 0, at)
    for place, copy in blocks:
        if place >= at:
            yield place, copy
            at = place + copy[2] - copy[1]
    size = len(last.text)
    same = _common(sent[: at - 1 : -1], last.text[::-1])
    if same >= SHORTEST_COPY:
        yield len(sent) - same, (last.seq, size - same, size)


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def pack(items: Iterable[Item], tail: bytes) -> bytes:
    """Return items, and what stands behind the messages, as they are stored."""
    squeezed = zlib.compressobj(9, wbits=RAW, zdict=OFTEN)
    said = request_bytes.encode([[*in_runs(items)], tail.decode()])
    return squeezed.compress(said) + squeezed.flush()


def in_runs(items: Iterable[Item]) -> Iterator[object]:
    """Yield the items, with messages that follow each other as one."""
    first = last = 0
    for item in (*items, None):
        if isinstance(item, int) and first and item == last + 1:
            last = item
            continue
        if first:
            yield [first, last] if last > first else first
        first = last = item if isinstance(item, int) else 0
        if isinstance(item, tuple):
            yield item


def unpack(data: bytes) -> tuple[tuple[Item, ...], bytes]:
    """Return the items that were stored, and what stood behind the messages."""
    squeezed = zlib.decompressobj(wbits=RAW, zdict=OFTEN)
    match request_bytes.decode(squeezed.decompress(data) + squeezed.flush()):
        case [[*items], str(tail)]:
            return tuple(out_of_runs(items)), tail.encode()
    raise ValueError(data)


def out_of_runs(items: Iterable[object]) -> Iterator[Item]:
    """Yield the items that ``in_runs`` has written."""
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


# So many lists are written as differences before one is whole again.
LONGEST_CHAIN = 64
# So many messages that follow each other may have become one in a request.
MOST_MERGED = 32

Key = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Written:
    """How far a run's record has come: the last call, its list, and what its items stand for."""

    call: int | None = None
    length: int = 0
    items: tuple[Item, ...] = ()
    known: Mapping[Key, Item] = field(default_factory=dict)
    fragments: Mapping[bytes, int] = field(default_factory=dict)


class RequestLog:
    """Writes down what the calls of one run send; each costs what is new in it."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        """Begin with a list that is whole."""
        self.conversation_id = conversation_id
        self._written = Written()
        self._stored: dict[int, tuple[str, object]] = {}

    def learn(self, rows: Iterable[Message]) -> None:
        """Take the rows of messages that may be sent."""
        self._stored |= {row.seq: (row.role, row.content) for row in rows}

    def confirm(self, written: Written) -> None:
        """Go on from a record that was committed."""
        self._written = written

    def write(self, call: int, request: SentRequest | None) -> Written:
        """Store the record of a call that is stored; it is not the last one until confirmed."""
        before = self._written
        if request is None:
            return before
        keys = zip(request.seqs, request.fragments, strict=True)
        # None for what is nothing that is stored.
        known: dict[Key, Item | None] = {
            key: before.known.get(key) or self._item(*key, end)
            for key, end in zip(keys, (*request.seqs[1:], 0), strict=True)
        }
        loose = [bytes_ for (_, bytes_), item in known.items() if item is None]
        fragments = {**before.fragments, **self._store([request.head, *loose], before.fragments)}
        found: dict[Key, Item] = {
            key: (fragments[_digest(key[1])],) if item is None else item
            for key, item in known.items()
        }
        items = tuple(found[key] for key in zip(request.seqs, request.fragments, strict=True))
        kept = len([*takewhile(bool, map(operator.eq, before.items, items))])
        whole = not kept or before.length >= LONGEST_CHAIN
        manifest = Manifest(
            call_id=call,
            parent=None if whole else before.call,
            kept=0 if whole else kept,
            data=pack(items if whole else items[kept:], request.tail),
            head_id=fragments[_digest(request.head)],
            digest=request.digest,
        )
        insert(manifest)
        length = 1 if whole else before.length + 1
        return Written(call, length, items, found, {**fragments})

    def _item(self, seq: int, sent: bytes, end: int) -> Item | None:
        """Return a message of a request, which may be made of all that are stored up to ``end``."""
        last = end if end > seq else max(self._stored, default=0) + 1
        seqs = range(seq, min(last, seq + MOST_MERGED))
        sources = [stored(one, *self._stored[one]) for one in seqs if one in self._stored]
        return item_for(sent.decode(), sources) if seq in self._stored else None

    def _store(self, parts: Iterable[bytes], known: Mapping[bytes, int]) -> dict[bytes, int]:
        """Return the fragments of these bytes by their digests, made where there are none."""
        new = {digest: part for part in parts if (digest := _digest(part)) not in known}
        if not new:
            return {}
        found = {
            digest: pk
            for digest in new
            if (pk := _fragment.first(conversation=self.conversation_id, digest=digest))
        }
        for digest in new.keys() - found.keys():
            fragment = Fragment(
                conversation_id=self.conversation_id,
                digest=digest,
                data=zlib.compress(new[digest]),
            )
            found[digest] = insert(fragment).pk
        return found


@prepared(conversation=models.UUIDField(), digest=models.BinaryField())
def _fragment(conversation: uuid.UUID, digest: bytes) -> "models.QuerySet[Fragment, int]":
    fragments = Fragment.objects.filter(conversation=conversation, digest=digest)
    return fragments.values_list("pk", flat=True)


def _digest(part: bytes) -> bytes:
    return hashlib.sha256(part).digest()
