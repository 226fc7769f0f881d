"""Requests in a record: each still leads to the bytes that a call sent."""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chatapp.models import Conversation, Fragment, Manifest
from chatapp.models.database import piece
from chatapp.records.transfer import Unusable
from chatapp.records.transfer.import_spool import Spool
from chatapp.records.transfer.record_rows import WRONG
from chatapp.records.transfer.record_tables import with_names
from chatapp.storage.request_log import Item, in_runs, out_of_runs, pack, plain, unpack
from chatapp.storage.request_reader import RequestReader, fragment_of, sources_of
from condense import noop

# Messages of a request, and bytes of all of a file's that are put together to be checked.
MOST_ITEMS = 200_000
MOST_BYTES = 2 * 1024**3


def write_requests(
    conversation: Conversation, calls: Mapping[int, int], names: Mapping[str, str]
) -> dict[str, list[dict[str, Any]]]:
    """Return the sections of these calls' requests, numbered like messages."""
    # A fragment keeps its original bytes if the file gives its message another name.
    writer = _PartNumbers(conversation, names)
    sent = Manifest.objects.filter(call__conversation=conversation).order_by("pk")
    known = [one for one in sent.iterator() if one.pk in calls]
    requests = [writer.request(one, calls) for one in known]
    return {"fragments": writer.fragments, "requests": requests}


class _PartNumbers:
    """Numbers the parts of requests, in the order in which they need them."""

    def __init__(self, conversation: Conversation, names: Mapping[str, str]) -> None:
        self.fragments: list[dict[str, Any]] = []
        self._numbers: dict[bytes, int] = {}
        self._reader = RequestReader(conversation.pk)
        # An import renames them, even if the file's name is also used here.
        others = dict.fromkeys(names, "another")
        self._altered = {
            row.seq
            for row in conversation.messages.made_by_engine()
            if with_names(row.content, others) != row.content
        }

    def request(self, manifest: Manifest, calls: Mapping[int, int]) -> dict[str, Any]:
        added, tail = unpack(bytes(manifest.data))
        stored = self._reader.fragments([manifest.head_id, *_pks(added)])
        parent = {} if manifest.parent is None else {"parent": calls[manifest.parent]}
        return {
            "call": calls[manifest.pk],
            **parent,
            "kept": manifest.kept,
            "head": self._number(stored[manifest.head_id]),
            "items": in_runs(self._items(manifest, added, stored)),
            "tail": tail.decode(),
            "digest": bytes(manifest.digest).hex(),
        }

    def _items(
        self, manifest: Manifest, added: Sequence[Item], stored: Mapping[int, bytes]
    ) -> Iterator[Item]:
        parts = self._reader.parts(manifest) if self._altered else None
        for place, item in enumerate(added, manifest.kept):
            if (pk := fragment_of(item)) is not None:
                yield (self._number(stored[pk]),)
            elif parts and self._altered.intersection(parts.sources[place]):
                yield (self._number(parts.fragments[place]),)
            else:
                yield item

    def _number(self, part: bytes) -> int:
        digest = hashlib.sha256(part).digest()
        if digest not in self._numbers:
            self._numbers[digest] = len(self._numbers) + 1
            self.fragments.append({"number": self._numbers[digest], "text": part.decode()})
        return self._numbers[digest]


def _pks(items: Iterable[Item]) -> Iterator[int]:
    return (pk for item in items if (pk := fragment_of(item)) is not None)


def store_requests(conversation: Conversation, spool: Spool) -> None:
    """Store the requests of an imported conversation; raise Unusable if they are not intact."""
    calls = list(conversation.calls.order_by("pk").values_list("pk", flat=True))
    try:
        fragments, made = list[int](), list[Manifest]()
        for batch in spool.batches("fragments"):
            parts = [item["text"].encode() for item in batch]
            new = [
                Fragment(
                    conversation=conversation,
                    digest=hashlib.sha256(part).digest(),
                    data=zlib.compress(part),
                )
                for part in parts
            ]
            with piece():
                fragments += [one.pk for one in Fragment.objects.bulk_create(new)]
        for batch in spool.batches("requests"):
            rows = [_manifest(one, calls, fragments) for one in batch]
            with piece():
                made += Manifest.objects.bulk_create(rows)
        _check(conversation, made)
    except (*WRONG, zlib.error) as error:
        raise Unusable(noop("The file's requests are not what was sent.")) from error


def _manifest(item: Mapping[str, Any], calls: Sequence[int], fragments: Sequence[int]) -> Manifest:
    """Return a request's row; raise ValueError if it stands for too many messages."""
    number, parent, listed = item["call"], item.get("parent"), item["items"]
    runs = [one for one in listed if isinstance(one, list) and len(one) == len(("first", "last"))]
    spans = [last - first for first, last in runs if type(first) is type(last) is int]
    if not 0 < (parent or 0) + 1 <= number or len(listed) + sum(spans) > MOST_ITEMS:
        raise ValueError(item)
    items = [
        one if (place := fragment_of(one)) is None else (fragments[place - 1],)
        for one in out_of_runs(listed)
    ]
    return Manifest(
        call_id=calls[number - 1],
        parent=None if parent is None else calls[parent - 1],
        kept=item.get("kept", 0),
        data=pack(items, item["tail"].encode()),
        head_id=fragments[item["head"] - 1],
        digest=bytes.fromhex(item["digest"]),
    )


def _check(conversation: Conversation, made: Sequence[Manifest]) -> None:
    """Raise ValueError if a request differs from its digest, or is too large.

    A request with a message that was erased since is not compared.
    """
    reader, left = RequestReader(conversation.pk), MOST_BYTES
    reader.learn(made)
    rows = list(conversation.messages.values_list("seq", "role", "content") if made else ())
    sizes = {seq: len(plain(role, content)) for seq, role, content in rows}
    erased = {seq for seq, _role, content in rows if not content}
    for manifest in made:
        items, _tail = reader.items(manifest)
        stored = reader.fragments([manifest.head_id, *_pks(items)])
        left -= sum(_size(item, sizes, stored) for item in items) + len(stored[manifest.head_id])
        if left < 0 or len(items) > MOST_ITEMS:
            raise ValueError(manifest)
        fits = hashlib.sha256(reader.read(manifest)).digest() == bytes(manifest.digest)
        if not fits and erased.isdisjoint([seq for one in items for seq in sources_of(one)]):
            raise ValueError(manifest)


def _size(item: Item, sizes: Mapping[int, int], stored: Mapping[int, bytes]) -> int:
    """Return the greatest possible number of bytes behind an item."""
    match item:
        case int(seq):
            return sizes[seq]
        case (int(pk),):
            return len(stored[pk])
        case pieces:
            return sum(len(one) if isinstance(one, str) else sizes[one[0]] for one in pieces)
