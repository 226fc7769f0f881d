"""What the model was sent in a call: its stored bytes, checked, and read again."""

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import condense
from chatapp.context import budgets
from chatapp.context.requests.log import LONGEST_CHAIN
from chatapp.context.requests.reader import Parts, RequestReader
from chatapp.inspector.cards import Card, cards_of
from chatapp.inspector.comparing import Comparison, Told, compare, why_missed
from chatapp.inspector.pieces import SYSTEM, Piece, Sized, frame_pieces, message_pieces
from chatapp.models import Manifest, Message, ModelCall, Profile
from chatapp.providers import request_format
from chatapp.providers.formats import read_frame, read_messages

# The same messages come in every call of a conversation.
_counter = condense.CachedCounter(budgets.COUNTER)


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call with the bytes of its request; they ``match`` the hash that was stored with it."""

    call: ModelCall
    parts: Parts
    digest: str
    matches: bool
    told: Told = field(repr=False)

    @property
    def size(self) -> int:
        """How many bytes were sent."""
        return len(self.parts.body)


@dataclass(frozen=True, slots=True)
class PastCall:
    """What the model saw in a call, in cards, beside what it saw in the call before.

    ``seen`` is None where no request is on record or its parts are lost. Its size is the
    provider's measure or our estimate, and 0 where nobody knows the window.
    """

    call: ModelCall
    seen: SeenCall | None
    cards: Sequence[Card] = ()
    tokens: int = 0
    measured: bool = False
    window: int = 0
    comparison: Comparison | None = None
    missed: str = ""
    earlier: ModelCall | None = None
    later: ModelCall | None = None

    @property
    def percent(self) -> float | None:
        """How full the window was."""
        return 100 * self.tokens / self.window if self.window else None


def read_body(call: ModelCall) -> bytes | None:
    """Return the bytes of a call's request, None where they are not on record any more."""
    parts = _read(RequestReader(call.conversation_id), call)
    return parts.body if parts else None


def read_call(call: ModelCall) -> PastCall:
    """Return what the model saw in a call; costs what it saw, whatever else is stored."""
    reader = RequestReader(call.conversation_id)
    earlier, later = _neighbours(call)
    reader.learn(_manifests(call))
    before = _see(reader, earlier) if earlier else None
    seen = _see(reader, call)
    if seen is None:
        return PastCall(call, None, earlier=earlier, later=later)
    pieces = [*_pieces(seen)]
    measured = bool(call.tokens_prompt)
    tokens = call.tokens_prompt or round(sum(piece.tokens for piece in pieces))
    cached = call.tokens_cache_read if measured else None
    window = _window(call)
    comparison = compare(before.told, seen.told) if before else None
    return PastCall(
        call=call,
        seen=seen,
        cards=cards_of(pieces, tokens, window, cached),
        tokens=tokens,
        measured=measured,
        window=window,
        comparison=comparison,
        missed=why_missed(call, earlier, comparison),
        earlier=earlier,
        later=later,
    )


def _neighbours(call: ModelCall) -> tuple[ModelCall | None, ModelCall | None]:
    """Return the calls before and after that answered, as far as their requests are on record."""
    calls = ModelCall.objects.filter(
        conversation=call.conversation_id, purpose=ModelCall.Purpose.CHAT, manifest__isnull=False
    )
    earlier = calls.filter(created_at__lte=call.created_at, pk__lt=call.pk)
    later = calls.filter(created_at__gte=call.created_at, pk__gt=call.pk)
    newest_first = earlier.select_related("manifest").order_by("-created_at", "-pk")
    return newest_first.first(), later.order_by("created_at", "pk").first()


def _manifests(call: ModelCall) -> Iterator[Manifest]:
    """Return the records that those of a call and the one before may be differences to."""
    known = Manifest.objects.filter(call__conversation=call.conversation_id, pk__lte=call.pk)
    return known.order_by("-pk")[: 2 * LONGEST_CHAIN].iterator()


def _read(reader: RequestReader, call: ModelCall) -> Parts | None:
    manifest = getattr(call, "manifest", None)
    if manifest is None:
        return None
    try:
        return reader.parts(manifest)
    except (LookupError, ValueError, Manifest.DoesNotExist, zlib.error):
        return None


def _see(reader: RequestReader, call: ModelCall) -> SeenCall | None:
    parts = _read(reader, call)
    if parts is None:
        return None
    digest = hashlib.sha256(parts.body).digest()
    matches = digest == bytes(call.manifest.digest)
    return SeenCall(call, parts, digest.hex(), matches, _told(call, parts))


def _told(call: ModelCall, parts: Parts) -> Told:
    """Return what a request says, in neutral words; of what nobody can read, nothing."""
    own = request_format(call.provider)
    try:
        frame = read_frame(own, parts.head, parts.tail)
        messages = [
            (message, sources)
            for fragment, sources in zip(parts.fragments, parts.sources, strict=True)
            for message in read_messages(own, fragment)
        ]
    except (ValueError, condense.InvalidMessage):
        return Told()
    return Told(frame, messages)


def _pieces(seen: SeenCall) -> Iterator[Piece]:
    frame = seen.told.frame
    tools = [(name, json.dumps(tool, indent=1)) for name, tool in frame.tools.items()]
    for kind, name, text in frame_pieces(frame.system, tools):
        weight = _counter.count(text) if kind == SYSTEM else _tool_weight(text)
        yield Piece(kind, text, weight, name=name)
    made = _made(seen)
    yield from message_pieces(
        [
            Sized(
                message,
                condense.count_message(message, _counter),
                any(made[seq] for seq in sources if seq in made) if sources else None,
                sources[0] if sources else 0,
            )
            for message, sources in seen.told.messages
        ]
    )


def _tool_weight(text: str) -> int:
    return _counter.count(json.dumps(json.loads(text), separators=(",", ":")))


def _made(seen: SeenCall) -> Mapping[int, bool]:
    """Return of the stored messages that were sent whether the engine wrote them."""
    seqs = {seq for _, sources in seen.told.messages for seq in sources}
    rows = Message.objects.filter(conversation=seen.call.conversation_id, seq__in=seqs)
    names: Any = ("seq", "condense_id", "truncation_id", "clear_id")
    return {seq: any(ids) for seq, *ids in rows.values_list(*names)}


def _window(call: ModelCall) -> int:
    """Return the window of the call's model, 0 where no profile knows it any more."""
    same = Profile.objects.filter(
        owner__conversations=call.conversation_id, name=call.profile_name, model=call.model
    )
    return same.values_list("context_window", flat=True).first() or 0
