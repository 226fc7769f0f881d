"""Which records hide something from a request: those whose summary or marker is in it."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import condense
from chatapp.inspector.pieces import pinned_texts
from chatapp.models import Condensation, Message, ModelCall
from chatapp.models.records import CondensationQuerySet
from chatapp.transcript import labels

# Of a request in which no message is known by its number: how many summaries it may have.
LATEST = 20


@dataclass(frozen=True, slots=True)
class Hider:
    """A record, and how much it hides; ``at`` is the place of its row."""

    pk: uuid.UUID
    name: str
    icon: str
    words: str
    at: str


def hiders(records: CondensationQuerySet) -> Iterator[Hider]:
    """Yield some records in reading order."""
    made = records.exclude(message=None).brief().select_related("message")
    for row in made.order_by("message__position", "message__seq"):
        words = labels.kind_words(row.kind)
        at = f"{row.message.position}.{row.message.seq}" if row.message else ""
        yield Hider(row.pk, words.name, words.icon, labels.hidden_text(row), at)


def hiders_in(call: ModelCall, seqs: Iterable[int]) -> Sequence[Hider]:
    """Return the records whose message is one of these."""
    named = Condensation.objects.filter(conversation=call.conversation_id, message__seq__in=seqs)
    return tuple(hiders(named))


def made_seqs(call: ModelCall, sources: Iterable[int]) -> frozenset[int]:
    """Return the messages among some that the engine wrote."""
    rows = Message.objects.filter(conversation=call.conversation_id, seq__in=set(sources))
    return frozenset(rows.made_by_engine().values_list("seq", flat=True))


def pinned_in(call: ModelCall, sources: Iterable[int]) -> frozenset[str]:
    """Return the texts of the rules and passages among some messages."""
    rows = Message.objects.filter(conversation=call.conversation_id, seq__in=set(sources))
    pinned = rows.filter(pin__isnull=False).values_list("content", flat=True)
    said = (condense.Message("user", condense.content_from_api(content)) for content in pinned)
    return frozenset[str]().union(*(pinned_texts(message.blocks) for message in said))


class Recognition:
    """Finds the summary or marker that a text is, where the record has no number of it."""

    def __init__(self, call: ModelCall) -> None:
        """Ask for nothing until a text begins like one."""
        self._call = call
        self._known: dict[str, int] | None = None

    def seq_of(self, message: condense.Message) -> int:
        """Return the number of the stored message, 0 where the engine wrote no such."""
        if message.role != "user" or not any(condense.split_parts(message.text)):
            return 0
        known = self._beginnings() if self._known is None else self._known
        return next((seq for said, seq in known.items() if message.text.startswith(said)), 0)

    def _beginnings(self) -> dict[str, int]:
        rows = Message.objects.filter(
            conversation=self._call.conversation_id, created_at__lte=self._call.created_at
        )
        latest = rows.made_by_engine().order_by("-seq").values_list("content", "seq")[:LATEST]
        self._known = {
            blocks[0].text: seq
            for content, seq in latest
            if (blocks := condense.Message("user", condense.content_from_api(content)).blocks)
            and isinstance(blocks[0], condense.TextBlock)
        }
        return self._known
