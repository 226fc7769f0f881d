"""Puts requests together again, from stored rows and nothing else."""

import uuid
import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from chatapp.models import Fragment, Manifest, Message
from chatapp.storage.request_log import Copy, Item, plain, unpack


class Parts(NamedTuple):
    """A request in its parts; ``sources`` are the stored messages that each fragment is made of."""

    head: bytes
    fragments: tuple[bytes, ...]
    sources: tuple[tuple[int, ...], ...]
    tail: bytes

    @property
    def body(self) -> bytes:
        """The bytes that were sent."""
        return b"".join((self.head, b",".join(self.fragments), self.tail))


class RequestReader:
    """Puts the requests of one conversation together again."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        self.conversation_id = conversation_id
        self._known: dict[int, Manifest] = {}
        self._lists: dict[int, tuple[Item, ...]] = {}
        self._messages: dict[int, str] = {}
        self._fragments: dict[int, bytes] = {}

    def learn(self, manifests: Iterable[Manifest]) -> None:
        """Take records that others may be differences to: those are asked for one by one."""
        self._known |= {one.pk: one for one in manifests}

    def read(self, manifest: Manifest) -> bytes:
        """Return the bytes that were sent; raise LookupError or ValueError if they are lost."""
        return self.parts(manifest).body

    def parts(self, manifest: Manifest) -> Parts:
        """Return a request in its parts; raise as ``read`` does."""
        items, tail = self.items(manifest)
        self._load(items, manifest.head_id)
        return Parts(
            self._fragments[manifest.head_id],
            tuple(map(self._bytes, items)),
            tuple(map(sources_of, items)),
            tail,
        )

    def items(self, manifest: Manifest) -> tuple[tuple[Item, ...], bytes]:
        """Return a call's whole list, and the tail; the lists are kept for the next call."""
        chain = [manifest]
        while (parent := chain[-1].parent) is not None and parent not in self._lists:
            chain.append(self._known.get(parent) or Manifest.objects.get(pk=parent))
        tail = b""
        for one in reversed(chain):
            before = self._lists[one.parent] if one.parent is not None else ()
            if not before:
                self._lists.clear()
            added, tail = unpack(bytes(one.data))
            self._lists[one.pk] = (*before[: one.kept], *added)
        return self._lists[manifest.pk], tail

    def fragments(self, pks: Iterable[int]) -> Mapping[int, bytes]:
        """Return the bytes of some fragments."""
        if new := set(pks) - self._fragments.keys():
            fragments = Fragment.objects.filter(conversation=self.conversation_id, pk__in=new)
            for pk, data in fragments.values_list("pk", "data"):
                self._fragments[pk] = zlib.decompress(data)
        return self._fragments

    def _load(self, items: Iterable[Item], head: int) -> None:
        """Read the messages and fragments that are needed and not yet known, in two queries."""
        if new := {seq for item in items for seq in sources_of(item)} - self._messages.keys():
            rows = Message.objects.filter(conversation=self.conversation_id, seq__in=new)
            for seq, role, content in rows.values_list("seq", "role", "content"):
                self._messages[seq] = plain(role, content).decode()
        self.fragments({head, *(pk for item in items if (pk := fragment_of(item)))})

    def _bytes(self, item: Item) -> bytes:
        match item:
            case int(seq):
                return self._messages[seq].encode()
            case (int(pk),):
                return self._fragments[pk]
            case pieces:
                return "".join(map(self._text, pieces)).encode()

    def _text(self, piece: Copy | str) -> str:
        if isinstance(piece, str):
            return piece
        seq, start, end = piece
        return self._messages[seq][start:end]


def sources_of(item: Item) -> tuple[int, ...]:
    """Return the numbers of the stored messages that an item is made of."""
    match item:
        case int(seq):
            return (seq,)
        case (int(),):
            return ()
        case pieces:
            return tuple({piece[0]: None for piece in pieces if isinstance(piece, tuple)})


def fragment_of(item: Item) -> int | None:
    """Return the key of an item's fragment, None if it is made of messages."""
    match item:
        case (int(pk),):
            return pk
    return None
