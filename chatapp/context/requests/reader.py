"""Puts requests together again, from what is stored and nothing else."""

import hashlib
import uuid
import zlib
from collections.abc import Iterable, Iterator

from chatapp.context.requests.items import Item, plain, unpack
from chatapp.models import Conversation, Fragment, Manifest, Message


class RequestReader:
    """Puts the requests of one conversation together again."""

    def __init__(self, conversation_id: uuid.UUID) -> None:
        """Begin with nothing read."""
        self.conversation_id = conversation_id
        self._lists: dict[int, tuple[Item, ...]] = {}
        self._messages: dict[int, str] = {}
        self._fragments: dict[int, bytes] = {}

    def read(self, manifest: Manifest) -> bytes:
        """Return the bytes that were sent; raise LookupError where some of them are gone."""
        items = self._items(manifest)
        self._load(items, manifest.head_id)
        body = b",".join(map(self._bytes, items))
        return b"".join((self._fragments[manifest.head_id], body, manifest.tail.encode()))

    def _items(self, manifest: Manifest) -> tuple[Item, ...]:
        """Return a call's whole list; those of the calls before are kept for the next."""
        chain = [manifest]
        while (parent := chain[-1].parent) is not None and parent not in self._lists:
            chain.append(Manifest.objects.get(pk=parent))
        for one in reversed(chain):
            before = self._lists[one.parent] if one.parent is not None else ()
            if not before:
                self._lists.clear()
            self._lists[one.pk] = (*before[: one.kept], *unpack(one.added))
        return self._lists[manifest.pk]

    def _load(self, items: Iterable[Item], head: int) -> None:
        """Read what is needed and not yet known, in two queries."""
        items = [*items]
        seqs = {item if isinstance(item, int) else item[0] for item in items if not _is_loose(item)}
        pks = {head, *(item[0] for item in items if isinstance(item, tuple) and _is_loose(item))}
        if new := seqs - self._messages.keys():
            rows = Message.objects.filter(conversation=self.conversation_id)
            for seq, role, content in rows.filter(seq__in=new).values_list(
                "seq", "role", "content"
            ):
                self._messages[seq] = plain(role, content).decode()
        if new := pks - self._fragments.keys():
            fragments = Fragment.objects.filter(conversation=self.conversation_id, pk__in=new)
            for pk, data in fragments.values_list("pk", "data"):
                self._fragments[pk] = zlib.decompress(data)

    def _bytes(self, item: Item) -> bytes:
        match item:
            case int(seq):
                return self._messages[seq].encode()
            case (pk,):
                return self._fragments[pk]
            case (seq, start, end, text):
                stored = self._messages[seq]
                return f"{stored[:start]}{text}{stored[len(stored) - end :]}".encode()


def find_changed() -> Iterator[Manifest]:
    """Yield the records that do not lead back to the bytes that were sent."""
    for conversation in Conversation.objects.filter(calls__manifest__isnull=False).distinct():
        reader = RequestReader(conversation.pk)
        manifests = Manifest.objects.filter(call__conversation=conversation).order_by("pk")
        for manifest in manifests.iterator():
            if not _leads_back(manifest, reader):
                yield manifest


def _leads_back(manifest: Manifest, reader: RequestReader) -> bool:
    try:
        body = reader.read(manifest)
    except (LookupError, Manifest.DoesNotExist, zlib.error):
        return False
    return hashlib.sha256(body).digest() == bytes(manifest.digest)


def _is_loose(item: Item) -> bool:
    return isinstance(item, tuple) and len(item) == 1
