"""Forgotten passages: stored per message, and left out of everything that the model reads.

The messages themselves do not change. The message with the request names the passages, and a rewind
to before it restores them.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import batched, islice
from typing import override

from django.db.models import TextField
from django.db.models.functions import Cast

import condense
from chatapp.agent.annotated_blocks import forgets, forgotten_block, forgotten_by
from chatapp.conversations.context import sizes
from chatapp.conversations.conversations import title_of
from chatapp.conversations.embedding import vectors
from chatapp.conversations.locks import lock, refuse_while_running
from chatapp.conversations.toolbox.history_search import StoredRecall
from chatapp.models import AuditEntry, Conversation, Message, audit, hidden_messages, message_store
from chatapp.models.database import piece
from chatapp.models.errors import IndexDamaged, Refused
from chatapp.models.message_index import visible_text
from chatapp.project.sentences import translate as _

LONGEST = 50_000  # characters that a button forgets at once
TELLING, TOGETHER = 8, 100  # words by which a passage is searched; passages in one statement
MOST = 100  # messages that are searched, and requests of an import
# Stands for the key of a message that is not stored yet.
_NEW = 0


def block_for(conversation: Conversation, text: str) -> tuple[condense.TextBlock, ...]:
    """Return the block with the passages that a new message forgets, () for most messages."""
    requests, own = condense.find_forget_requests(text), conversation.last_seq + 1
    found = dict[tuple[int, str], None]()
    for request, asking in requests:
        # Other sentences of the message may contain it, too.
        stored = _Stored(conversation, text.replace(asking, ""))
        meant = condense.find_meant(stored, request, stored.texts)
        found |= dict.fromkeys((stored.seqs[pk], one) for pk, said in meant.items() for one in said)
        if meant:
            found[own, request] = None
    return (forgotten_block([*found], _renamed(conversation, found)),) if requests else ()


def forget(row: Message) -> None:
    """Apply the forgotten passages of a message that was just stored.

    The conversation must be locked. An audit entry names the affected messages.
    """
    hidden_messages.refresh_forgotten(row.conversation_id, row)
    seqs = sorted({seq for seq, _text in forgotten_by(row.content)})
    facts = {"seq": row.seq, "messages": seqs}
    audit.append(row.conversation_id, AuditEntry.Kind.FORGETTING, told={"facts": facts})
    message_store.mark_changed(row.conversation_id)
    vectors.enqueue(row.conversation_id)


def _renamed(own: Conversation, found: Iterable[tuple[int, str]]) -> tuple[str, ...]:
    """Return the old and the new title, () if the old one contains none of the passages."""
    passages = [text for _seq, text in found]
    if not condense.tells_any(own.title, passages):
        return ()
    asked = own.messages.written().filter(role="user", rewind_parent=None)
    rows = asked.in_reading_order()[:MOST].iterator()
    # The rest of a request says nothing.
    said = (message_store.to_engine(one) for one in rows if not any(forgotten_by(one.content)))
    texts = (condense.without_forgotten(one, passages).words.strip("[…] \n") for one in said)
    left = (text for text in texts if text and not condense.tells_any(text, passages))
    return own.title, title_of(next(left, ""))


def forget_passage(*, conversation: Conversation, text: str, seq: int | None = None) -> None:
    """Forget a passage in all messages, or all of message ``seq``.

    Raises Refused while a turn runs, and for a passage that no message has.
    """
    with lock(conversation, keeps_pins=False) as own:
        refuse_while_running(own, lets_client=True)
        stored = _Stored(own)
        if seq is not None:
            row = own.messages.filter(seq=seq, rewind_parent=None).first()
            text = visible_text(row.content) if row else ""
        found = stored.places_of(condense.passages_in(text[:LONGEST]))
        if not found:
            raise Refused(_("This can't be found in the message's text. Select whole words."))
        store_request(own, found)


def forget_as_asked(own: Conversation) -> None:
    """Apply the newest requests to forget in an imported conversation, by one message at its end.

    Later messages than a request keep their words.
    """
    stored, found = _Stored(own), dict[tuple[int, str], None]()
    rows = own.messages.written().filter(role="user", rewind_parent=None).order_by("-seq")
    said = ((row.seq, message_store.to_engine(row)) for row in rows.iterator())
    requests = (
        (seq, request)
        for seq, one in said
        if not forgets(one)
        for request, _sentence in condense.find_forget_requests(one.words)
    )
    for seq, request in islice(requests, MOST):
        meant = condense.find_meant(stored, request, stored.texts)
        places = [(stored.seqs[pk], one) for pk, told in meant.items() for one in told]
        if before := [place for place in places if place[0] < seq]:
            found |= dict.fromkeys([*before, (seq, request)])
    if found:
        with piece():
            store_request(own, [*found])


def store_request(own: Conversation, found: Sequence[tuple[int, str]]) -> None:
    """Forget passages by a message without words; the conversation must be locked."""
    message = condense.Message("user", (forgotten_block(found, _renamed(own, found)),))
    tokens = condense.count_message(message, sizes.COUNTER)
    forget(message_store.append_message(own.pk, message, tokens=tokens))


class _Stored(StoredRecall):
    """Search index over all messages of a conversation that are not rewound, summaries too."""

    def __init__(self, conversation: Conversation, new: str = "") -> None:
        super().__init__(conversation.pk, conversation.last_seq)
        self.messages = hidden_messages.not_taken_back(conversation.pk)
        self.new = new
        self.seqs = {_NEW: conversation.last_seq + 1}

    @override
    def look_up(self, wanted: Sequence[condense.Terms], most: int) -> list[list[int]]:
        """Return the messages of each group; raise Refused if the index can't be searched."""
        try:
            return super().look_up(wanted, most)
        except IndexDamaged as damage:
            raise Refused(str(damage)) from damage

    def texts(self, numbers: Iterable[int]) -> Mapping[int, str]:
        """Return the texts of messages by their numbers.

        Summaries, markers and messages with recalled passages are included.
        """
        own = self.messages.annotate(text=Cast("content", TextField()))
        repeating = own.made_by_engine() | own.filter(text__contains='"recalled"')
        rows = {row.pk: row for row in own.filter(pk__in=[*numbers]) | repeating}
        self.seqs |= {pk: row.seq for pk, row in rows.items()}
        read = condense.parts_of([message_store.to_engine(row) for row in rows.values()])
        return {_NEW: self.new} | {
            int(one.id): "\n".join([one.text, *(part.text for part in parts)])
            for one, parts in read
        }

    def places_of(self, passages: list[str]) -> list[tuple[int, str]]:
        """Return the given passages by the number of each message that contains them."""
        asked = [(one, tuple(condense.terms_of(one)[:TELLING])) for one in passages]
        asked = [(passage, terms) for passage, terms in asked if terms]
        found = [
            numbers
            for some in batched(asked, TOGETHER)
            for numbers in self.look_up([terms for _passage, terms in some], MOST)
        ]
        named = {number for numbers in found for number in numbers}
        texts = self.texts(named)
        return [
            (self.seqs[number], passage)
            for (passage, _terms), numbers in zip(asked, found, strict=True)
            for number in (*numbers, *(texts.keys() - named))
            if passage in texts.get(number, "")
            and condense.passage_pattern([passage]).search(texts[number])
        ]
