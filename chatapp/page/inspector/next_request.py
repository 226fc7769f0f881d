"""Next request of a conversation, as it would be sent now, and the messages it leaves out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import models

import condense
from chatapp.condensing.costs import still_cached
from chatapp.conversations.context import sizes
from chatapp.conversations.context.turn_context import TurnSettings, terms_with
from chatapp.models import Condensation, Conversation, Rewind, message_store
from chatapp.models.condensations import CondensationQuerySet
from chatapp.page.inspector import parts
from chatapp.page.transcript.labels import AttemptWords, seen_words


def hiders(records: CondensationQuerySet) -> tuple[AttemptWords, ...]:
    """Return those of some records that hide something, in reading order."""
    made = records.exclude(message=None).brief().select_related("message")
    return tuple(map(AttemptWords, made.order_by("message__position", "message__seq")))


@dataclass(frozen=True, slots=True)
class NextRequest:
    """The next request: its cards, its size, an estimate unless ``measured``, and its window."""

    cards: Sequence[parts.PartCard]
    tokens: int
    measured: bool  # not estimated
    window: int
    model: str
    hiders: Sequence[AttemptWords]  # records that hide something of the conversation
    rewound: str  # counts the messages that rewinds have set aside
    cached: int  # first tokens, which should be in the provider's cache
    cached_until: datetime | None  # about then, None if no time is known
    starts: sizes.CondensingPoint  # the size at which it is condensed

    @property
    def percent(self) -> float:
        """The filled share of the window, in percent."""
        return 100 * self.tokens / self.window


def read_next_request(conversation: Conversation) -> NextRequest | None:
    """Return the next request to the model, None if no profile answers."""
    profile = conversation.answering
    if profile is None:
        return None
    terms = terms_with(conversation, profile)
    history, beyond = message_store.read_outline(conversation.pk)
    size = sizes.Scale.read(terms).weigh(history)
    messages = [
        parts.Sized(
            one,
            condense.count_message(one, sizes.COUNTER) if one.tokens is None else one.tokens,
            made=one.is_summary or one.is_marker,
            seq=one.seq,
            pinned=parts.pinned_texts(one.blocks),
            ranks=parts.recalled_ranks(one.blocks),
        )
        for one in history
    ]
    found = (*_frame(terms), *parts.message_pieces(messages))
    cached, until = still_cached(conversation, profile)
    read, more = cached if until else None, beyond.get("count", 1) - 1
    standing = conversation.condensations.filter(
        status=Condensation.Status.SUCCEEDED, message__hidden=False
    )
    in_force = conversation.rewinds.filter(undone_at=None, rewind_parent=None)
    counts = ("messages_hidden", "results_hidden", "condensations_hidden")
    rewound = Rewind(**in_force.aggregate(**{one: models.Sum(one, default=0) for one in counts}))
    return NextRequest(
        cards=parts.cards_of(found, size.value, profile.context_window, read, more),
        tokens=size.value,
        measured=size.measured,
        window=profile.context_window,
        model=profile.model,
        hiders=hiders(standing),
        rewound=seen_words(rewound),
        cached=cached,
        cached_until=until,
        starts=sizes.CondensingPoint.of_budget(
            terms.budget(history), automatic=terms.preferences.auto_condense
        ),
    )


def _frame(terms: TurnSettings) -> Iterator[parts.Piece]:
    weights = sizes.overhead_of(terms)
    tools = {spec.name: spec.to_api() for spec in terms.tools}
    characters = sum(len(json.dumps(tool, separators=(",", ":"))) for tool in tools.values()) or 1

    def weigh(kind: str, text: str) -> float:
        return weights.system if kind == parts.SYSTEM else weights.tools * len(text) / characters

    return parts.frame_pieces(terms.system, tools, weigh)
