"""Requests as they were sent: stored bytes, put together again and read in neutral words."""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import condense
from chatapp.models import Manifest, ModelCall
from chatapp.providers.formats import Frame, read_frame, read_messages, request_format
from chatapp.storage.request_reader import Parts, RequestReader


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A call with the bytes of its request; they ``match`` the hash that was stored with it.

    In neutral words the request is a ``frame``, and ``messages`` with those that each is made of;
    both are empty if it can't be read.
    """

    call: ModelCall
    parts: Parts
    digest: str
    matches: bool
    frame: Frame = field(default_factory=Frame, repr=False)
    messages: Sequence[tuple[condense.Message, tuple[int, ...]]] = field(default=(), repr=False)


def learn_chains(reader: RequestReader, newest: ModelCall, count: int) -> None:
    """Read the records of a conversation's last calls up to one, in one query."""
    calls = ModelCall.objects.filter(
        conversation=newest.conversation_id, created_at__lte=newest.created_at
    )
    latest = calls.order_by("-created_at", "-pk").values_list("pk", flat=True)[:count]
    reader.learn(Manifest.objects.filter(pk__in=[*latest]))


def read_body(call: ModelCall) -> bytes | None:
    """Return the bytes of a call's request, None if they are not on record any more."""
    parts = _read(RequestReader(call.conversation_id), call)
    return parts.body if parts else None


def _read(reader: RequestReader, call: ModelCall) -> Parts | None:
    manifest = getattr(call, "manifest", None)
    if manifest is None:
        return None
    try:
        return reader.parts(manifest)
    except (LookupError, ValueError, Manifest.DoesNotExist, zlib.error):
        return None


def see(reader: RequestReader, call: ModelCall) -> StoredRequest | None:
    """Return a call's request, None if it is not on record or its parts are lost."""
    parts = _read(reader, call)
    if parts is None:
        return None
    digest = hashlib.sha256(parts.body).digest()
    seen = StoredRequest(call, parts, digest.hex(), digest == bytes(call.manifest.digest))
    own = request_format(call.provider)
    try:
        frame = read_frame(own, parts.head, parts.tail)
        messages = [
            (message, sources)
            for fragment, sources in zip(parts.fragments, parts.sources, strict=True)
            for message in read_messages(own, fragment)
        ]
    except (ValueError, condense.InvalidMessage):
        return seen
    return replace(seen, frame=frame, messages=messages)
