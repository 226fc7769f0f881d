"""What the model saw in a call, beside what it saw in the call before."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import condense
from chatapp.context import budgets
from chatapp.context.requests.log import LONGEST_CHAIN
from chatapp.context.requests.reader import RequestReader
from chatapp.inspector.cards import Card, cards_of
from chatapp.inspector.comparing import Comparison, compare, why_missed
from chatapp.inspector.hiding import Hider, Recognition, hiders_in, made_seqs, pinned_in
from chatapp.inspector.pieces import SYSTEM, Piece, Sized, frame_pieces, message_pieces
from chatapp.inspector.sent import SeenCall, learn_chains, see
from chatapp.models import ModelCall, Profile

# The same messages come in every call of a conversation.
_counter = condense.CachedCounter(budgets.COUNTER)


@dataclass(frozen=True, slots=True)
class PastCall:
    """What the model saw in a call, in cards, beside what it saw in the call before.

    ``hiders`` are the records whose summary or marker it was sent.
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
    hiders: Sequence[Hider] = ()
    earlier: ModelCall | None = None
    later: ModelCall | None = None

    @property
    def percent(self) -> float | None:
        """How full the window was."""
        return 100 * self.tokens / self.window if self.window else None


def read_call(call: ModelCall) -> PastCall:
    """Return what the model saw in a call; costs what it saw, whatever else is stored."""
    reader = RequestReader(call.conversation_id)
    earlier, later = _neighbours(call)
    learn_chains(reader, call, 2 * LONGEST_CHAIN)
    before = see(reader, earlier) if earlier else None
    seen = see(reader, call)
    if seen is None:
        return PastCall(call, None, earlier=earlier, later=later)
    stood = _stood(seen)
    pieces = [*_pieces(seen, stood)]
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
        hiders=hiders_in(call, {made for _, _, made in stood if made}),
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


def _pieces(seen: SeenCall, stood: Sequence[tuple[condense.Message, int, int]]) -> Iterator[Piece]:
    frame = seen.told.frame
    tools = [(name, json.dumps(tool, indent=1)) for name, tool in frame.tools.items()]
    for kind, name, text in frame_pieces(frame.system, tools):
        weight = _counter.count(text) if kind == SYSTEM else _tool_weight(text)
        yield Piece(kind, text, weight, name=name)
    sources = (seq for _, own in seen.told.messages for seq in own)
    pinned = pinned_in(seen.call, sources)
    yield from message_pieces(
        [
            Sized(message, condense.count_message(message, _counter), bool(made), seq, pinned)
            for message, seq, made in stood
        ]
    )


def _stood(seen: SeenCall) -> Sequence[tuple[condense.Message, int, int]]:
    """Return the messages with their numbers, and those of the summaries among them, or 0."""
    told, recognition = seen.told.messages, Recognition(seen.call)
    made = made_seqs(seen.call, (seq for _, sources in told for seq in sources))
    return [
        (
            message,
            min(sources, default=0),
            next((seq for seq in sources if seq in made), 0)
            if sources
            else recognition.seq_of(message),
        )
        for message, sources in told
    ]


def _tool_weight(text: str) -> int:
    return _counter.count(json.dumps(json.loads(text), separators=(",", ":")))


def _window(call: ModelCall) -> int:
    """Return the window of the call's model, 0 where no profile knows it any more."""
    same = Profile.objects.filter(
        owner__conversations=call.conversation_id, name=call.profile_name, model=call.model
    )
    return same.values_list("context_window", flat=True).first() or 0
