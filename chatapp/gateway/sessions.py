"""Sessions: the conversation that a request belongs to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction
from django.utils import timezone

import condense
from chatapp.gateway import naming
from chatapp.gateway.bodies import read_body
from chatapp.gateway.dialects import RequestFacts
from chatapp.gateway.naming import DigestedMessage
from chatapp.gateway.requests import GatewayRequest
from chatapp.gateway.rewrites import Rewriter
from chatapp.models import ClientConversation, Conversation, HistoryLink, Message, ModelCall
from chatapp.models.database import insert, lock
from chatapp.storage.request_reader import RequestReader

# Digests that are looked for in one query, beginning with the longest history.
DIGESTS_AT_ONCE = 50
# The most conversations that may have a history's end. Answers are the same with this share of
# words in common, among so many characters.
MOST_RECENT, ALIKE, COMPARED = 10, 0.85, 10_000
# The messages of a request for a title or a trial, and its answer.
EXCHANGE = 2


def find_end(request: GatewayRequest) -> Conversation | None:
    """Return the conversation with a history's end, None if another one has its beginning.

    Hold no lock: it is compared with many messages.
    """
    return None if _with_history(request) else _with_end(request)


def find_known(request: GatewayRequest, end: Conversation | None) -> Conversation | None:
    """Return the conversation that a request continues, None for a new one; see ``find_end``."""
    found = _with_history(request) or end
    main = None if found else _main_of(request, request.name.session)
    is_own = main and (naming.asks_aside(request.headers, request.told) or _is_alike(main, request))
    return main if is_own else found


@transaction.atomic
def find_conversation(request: GatewayRequest, end: Conversation | None = None) -> Conversation:
    """Return the conversation of a request, which may be new; see ``find_end``.

    A name decides, then what is stored of the history. Within a session, a request of another kind
    is a conversation beside it.
    """
    # Two requests of one session come at once.
    lock(User, request.owner.pk)
    main = _main_of(request, request.name.session)
    if found := find_known(request, end):
        goes_on = len(request.history.entries) > EXCHANGE and main != found
        if main and goes_on and main.last_seq <= EXCHANGE and not _newest_of(main, request).tools:
            _swap(main, found)
        return found
    made = _begin(request, main or _main_of(request, request.name.parent))
    if main and request.told.tools and not _newest_of(main, request).tools:
        _swap(main, made)
    return made


def counted(request: GatewayRequest) -> bytes:
    """Return a request as it would go out now; nothing is stored."""
    talk = find_known(request, find_end(request))
    made = Rewriter(request, talk).rewrite() if talk else None
    parts = b",".join([part for part, _number in made.parts]) if made else b""
    return request.body.head + parts + request.body.tail if made else request.raw


def _of_session(request: GatewayRequest, session: str) -> "models.QuerySet[ClientConversation]":
    return ClientConversation.objects.of(request.owner, request.dialect.name, session)


def _main_of(request: GatewayRequest, session: str) -> Conversation | None:
    """Return the conversation of a named session that is no side request within it, if any."""
    known = _of_session(request, session) if session else ()
    mains = (one for one in known if not one.parent or one.parent.client.session != session)
    return next((one.conversation for one in mains), None)


def _with_history(request: GatewayRequest) -> Conversation | None:
    """Return the session's conversation that has the longest beginning of a history."""
    entries = [one for one in request.history.entries if not one.is_told]
    if any(map(_refers, entries)):
        return None
    for end in range(len(entries), 0, -DIGESTS_AT_ONCE):
        part = [one.digest for one in entries[max(0, end - DIGESTS_AT_ONCE) : end]]
        # Most histories that are new have nothing in common with any other.
        if not HistoryLink.objects.filter(digest__in=part).exists():
            continue
        known = _of_session(request, request.name.session).values("pk")
        rows = HistoryLink.objects.filter(message__conversation__client__in=known, digest__in=part)
        rows = rows.select_related("message__conversation__client")
        found = rows.order_by("message__conversation__updated_at")
        there = [(part.index(bytes(link.digest)), link.message) for link in found]
        if last := max([place + 1 for place, _one in there], default=0):
            return _going_on([one for place, one in there if place + 1 == last], request)
    return None


def _with_end(request: GatewayRequest) -> Conversation | None:
    """Return the only conversation that has the end of a history, up to its last answer."""
    # Programs drop their oldest messages, refer to answers, or send them back in another form. If
    # all messages are stored, the history continues there.
    entries = [_Said(one) for one in request.history.entries if not one.is_told]
    while entries and entries[-1].of.role != "assistant":
        entries.pop()
    talks = _of_session(request, request.name.session).order_by("-conversation__updated_at")
    ends = [_end_of(one.conversation, entries) for one in talks[:MOST_RECENT] if entries]
    end = max(ends, key=len, default=[]) if sum(map(bool, ends)) == 1 else []
    if end and len(end) == len(entries) and all(_likeness(*one) == 1 for one in end):
        digests = [bytes(row.of.history_link.digest) for _entry, row in end]
        request.history = naming.read_history(request.told, request.dialect, b"", *digests)
    return end[0][1].of.conversation if end else None


@dataclass(eq=False)
class _Said:
    """A message that is compared with others: of a request, or as it is stored."""

    of: Any

    @cached_property
    def content(self) -> list[Any]:
        """Its blocks, without those that only the server has."""
        return [one for one in self.of.content if condense.BESIDE not in one]

    @cached_property
    def digest(self) -> bytes:
        """The same for messages that are."""
        return HistoryLink.digest_behind(b"", self.of.role, self.content)

    @cached_property
    def words(self) -> set[str]:
        """Its words, or many of them."""
        return {*re.findall(r"\w+", str(self.content)[:COMPARED])}


def _end_of(talk: Conversation, entries: Sequence[_Said]) -> list[tuple[_Said, _Said]]:
    """Return the end of a history with its stored messages, if a recorded answer is among them."""
    linked = talk.messages.in_force().filter(history_link__isnull=False).order_by("-seq")
    found = linked.select_related("call", "history_link")[: len(entries) + MOST_RECENT]
    rows, best = [*map(_Said, found)], list[tuple[_Said, _Said]]()
    for first in range(len(rows)):
        pairs = zip(entries[::-1], rows[first:], strict=False)
        best = max(best, [*takewhile(lambda one: _likeness(*one) >= ALIKE, pairs)], key=len)
    # An exchange may be anybody's, unless there is no more; what is sealed is nobody else's.
    kinds = {part["type"] for entry, _row in best for part in entry.of.content}
    is_enough = len(best) > EXCHANGE or 1 + ("compaction" not in kinds) <= len(best) == len(entries)
    return best[::-1] if is_enough and any(hasattr(row.of, "call") for _entry, row in best) else []


def _likeness(entry: _Said, row: _Said) -> float:
    """Return 1 for a stored message, or a reference to it, and less for an answer like it."""
    if entry.of.role != row.of.role:
        return 0
    is_answer = entry.of.role == "assistant" and hasattr(row.of, "call")
    if entry.digest == row.digest or (is_answer and _refers(entry.of)):
        return 1
    if not is_answer:
        return 0
    return 0.99 * len(entry.words & row.words) / (min(len(entry.words), len(row.words)) or 1)


def _refers(entry: DigestedMessage) -> bool:
    return {one["type"] for one in entry.content} == {"item_reference"}


def _going_on(found: Sequence[Message], request: GatewayRequest) -> Conversation | None:
    """Return the conversation of one of these messages that a request continues, or makes fork."""
    # A question and a program's own examples may be anybody's: without an answer that was recorded
    # before, its request has to be alike, and a nameless one has to come first.
    found = [one for one in found if one.conversation.client.parent_id is None] or found
    ends = [one for one in found if one.seq == one.conversation.last_seq]
    if not ends and len(found) > 1 and not request.name.session:
        return None
    message = (ends or found)[-1]
    talk = message.conversation
    if talk.calls.filter(message__seq__lte=message.seq).exists():
        return talk
    # Agents of a session may be asked the same at once, and be stored one after the other.
    calls = talk.calls.only("status", "created_at", "seconds")
    busy = any(one.status == "running" or one.ended_at > request.arrived for one in calls)
    waits = bool(ends) and not busy
    is_main = request.name.session and talk.client.parent_id is None
    return talk if (is_main or waits) and _is_alike(talk, request) else None


def _newest_of(conversation: Conversation, request: GatewayRequest) -> RequestFacts:
    """Return the facts of a conversation's newest request; items may have its prompt and tools."""
    talk = conversation.calls.filter(purpose=ModelCall.Purpose.CHAT)
    call = talk.filter(manifest__isnull=False).order_by("-pk").first()
    sent = RequestReader(conversation.pk).read(call.manifest) if call else b""
    return request.dialect.read(read_body(sent, "").value)


def _is_alike(conversation: Conversation, request: GatewayRequest) -> bool:
    return naming.are_alike(_newest_of(conversation, request), request.told)


def _begin(request: GatewayRequest, parent: Conversation | None) -> Conversation:
    at = timezone.now() if parent else None
    made: Conversation = insert(
        Conversation(owner=request.owner, profile=request.profile, archived_at=at)
    )
    columns = {"program": request.program, "session": request.name.session, "parent": parent}
    insert(ClientConversation(conversation=made, dialect=request.dialect.name, **columns))
    return made


def _swap(first: Conversation, main: Conversation) -> None:
    """Make a session's first conversation, which was for a title or a trial, a side request."""
    above = first.client.parent
    ClientConversation.objects.filter(parent=first).update(parent=main)
    _put_beside(first, main)
    _put_beside(main, above)


def _put_beside(conversation: Conversation, parent: Conversation | None) -> None:
    """Make a conversation a side request of another, in the archive, or one of its own."""
    ClientConversation.objects.filter(pk=conversation.pk).update(parent=parent)
    at = timezone.now() if parent else None
    Conversation.objects.filter(pk=conversation.pk).update(archived_at=at)
