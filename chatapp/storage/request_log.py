"""Writes down what is sent; each call costs what is new in it."""

import hashlib
import operator
import uuid
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from django.db import models

from chatapp.agent.provider_port import SentRequest
from chatapp.models import Fragment, Manifest, Message
from chatapp.models.prepared_queries import insert, prepared
from chatapp.storage.request_fragments import Item, item_for, pack, stored

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
        known = self._recognise(request)
        loose = [bytes_ for (_, bytes_), item in known.items() if item is None]
        fragments = {**before.fragments, **self._store([request.head, *loose], before.fragments)}
        found: dict[Key, Item] = {
            key: (fragments[_digest(key[1])],) if item is None else item
            for key, item in known.items()
        }
        items = tuple(found[key] for key in zip(request.seqs, request.fragments, strict=True))
        kept = sum(1 for _ in takewhile(bool, map(operator.eq, before.items, items)))
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

    def _recognise(self, request: SentRequest) -> dict[Key, Item | None]:
        """Return what each message of a request is, None where it is nothing that is stored."""
        known = self._written.known
        keys = zip(request.seqs, request.fragments, strict=True)
        ends = (*request.seqs[1:], 0)
        return {
            key: known.get(key) or self._item(*key, end)
            for key, end in zip(keys, ends, strict=True)
        }

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
