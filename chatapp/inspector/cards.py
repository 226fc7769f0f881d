"""Pieces of one kind as a card: what they are, what they take, and how much of that was cached."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.inspector import pieces
from chatapp.inspector.pieces import Piece

# Of a card with more, the last ones are listed.
LISTED = 200

_Kind = condense.PartKind
_WORDS: dict[str, tuple[Promise, Promise]] = {
    pieces.SYSTEM: (_("System prompt"), _("What the model is told before anything else.")),
    pieces.TOOLS: (_("Tools"), _("What it may call, and how.")),
    _Kind.SUMMARY: (_("Summary"), _("Stands for messages that are hidden.")),
    _Kind.LEDGER: (_("Ledger"), _("Facts of hidden messages, copied by rule.")),
    _Kind.FILES: (_("Folded files"), _("Files that were read, as signatures.")),
    _Kind.WORKFLOWS: (_("Workflows"), _("Directives that outlive every condensation.")),
    _Kind.REQUEST: (_("Carried request"), _("A hidden request, word for word.")),
    _Kind.PINS: (
        _("Pins"),
        _("Rules, passages, and what is hidden, word for word."),
    ),
    _Kind.ENVIRONMENT: (_("Environment"), _("The time and the workspace, as they were.")),
    pieces.MESSAGES: (_("Messages"), _("What was said and done, as it was.")),
    pieces.NEWEST: (_("Newest request"), _("What the model is working on.")),
    pieces.SINCE: (_("Since then"), _("Replies and results after the newest request.")),
}
# Where a kind belongs in the bar and in the chart.
SEGMENTS = {pieces.SYSTEM: "system", pieces.TOOLS: "tools"} | dict.fromkeys(
    (pieces.MESSAGES, pieces.NEWEST, pieces.SINCE, _Kind.ENVIRONMENT), "messages"
)
MADE = "summary"


@dataclass(frozen=True, slots=True)
class Card:
    """What a request has of one kind; ``percent`` is its share of the window.

    ``cached`` are the tokens of it that were read from the provider's cache, None where nothing
    is known of that. ``segment`` is the colour of the context bar that it belongs to.
    """

    kind: str
    label: str
    hint: str
    segment: str
    tokens: int
    percent: float
    cached: int | None
    pieces: Sequence[Piece] = field(repr=False)

    @property
    def listed(self) -> Sequence[Piece]:
        """The last pieces, as many as are shown."""
        return self.pieces[-LISTED:]

    @property
    def unlisted(self) -> int:
        """How many pieces are not shown."""
        return len(self.pieces) - len(self.listed)

    @property
    def cached_percent(self) -> float | None:
        """The share of the card that was read from the cache."""
        return None if self.cached is None else 100 * self.cached / (self.tokens or 1)


def cards_of(
    found: Sequence[Piece], total: int, window: int, cached: int | None = None
) -> tuple[Card, ...]:
    """Return the cards of a request of ``total`` tokens, in the order in which their kinds begin.

    Of the request the first ``cached`` tokens were read from a cache. Pieces share the total by
    their weight.
    """
    scale = total / (sum(piece.tokens for piece in found) or 1)
    kinds: dict[str, list[Piece]] = {}
    tokens, hits, at = dict[str, float](), dict[str, float](), 0.0
    for piece in found:
        size = piece.tokens * scale
        kinds.setdefault(piece.kind, []).append(piece)
        tokens[piece.kind] = tokens.get(piece.kind, 0) + size
        hits[piece.kind] = hits.get(piece.kind, 0) + min(size, max(0, (cached or 0) - at))
        at += size
    return tuple(
        Card(
            kind=kind,
            label=str(_WORDS[kind][0]),
            hint=str(_WORDS[kind][1]),
            segment=SEGMENTS.get(kind, MADE),
            tokens=round(tokens[kind]),
            percent=100 * tokens[kind] / (window or total or 1),
            cached=None if cached is None else round(hits[kind]),
            pieces=those,
        )
        for kind, those in kinds.items()
    )
