"""Sessions: the conversation that a request belongs to."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from django.contrib.auth.models import User
from django.db import models, transaction
from django.utils import timezone

import condense
from chatapp.accounts.accounts import preferences_of
from chatapp.gateway import naming
from chatapp.gateway.bodies import read_body
from chatapp.gateway.dialects import Told
from chatapp.gateway.naming import Entry
from chatapp.gateway.requests import Request
from chatapp.gateway.rewrites import Rewriter
from chatapp.models import ClientConversation, Conversation, HistoryLink, Message
from chatapp.models.database import insert, lock
from chatapp.storage.request_reader import RequestReader

# Digests that are looked for in one query, beginning with the longest history.
AT_ONCE = 50
# A history may end in so many conversations, behind one of so many messages. With this share of the
# shorter one's words, an answer is another one in another form.
MOST_RECENT, NEWEST, ALIKE = 10, 20, 0.85
# The messages of a request for a title or a trial, and its answer.
EXCHANGE = 2

type _Known = models.QuerySet[ClientConversation]


def find_known(request: Request) -> Conversation | None:
    """Return the conversation that a request continues, None for a new one."""
    session = request.name.session
    known = _of_session(request, session)
    if found := _with_history(known, request) or _with_end(known, request):
        return found
    main = _main_of(request, session)
    return main if main is not None and _is_alike(main, request) else None


@transaction.atomic
def find_conversation(request: Request) -> tuple[Conversation, bool]:
    """Return the conversation of a request, and True if it is new.

    A name decides, then what is stored of the history. Within a session, a request of another kind
    is a conversation beside it.
    """
    # Two requests of one session come at once.
    lock(User, request.owner.pk)
    main = _main_of(request, request.name.session)
    if found := find_known(request):
        goes_on = len(request.history.entries) > EXCHANGE and main != found
        if main and goes_on and main.last_seq <= EXCHANGE and not _has_tools(main, request):
            _swap(main, found)
        return found, False
    made = _begin(request, main or _main_of(request, request.name.parent))
    if main and request.told.tools and not _has_tools(main, request):
        _swap(main, made)
    return made, True


def counted(request: Request) -> bytes:
    """Return a request as it would go out now; nothing is stored."""
    talk = find_known(request)
    made = Rewriter(request, talk).rewrite() if talk else None
    parts = b",".join([part for part, _number in made.parts]) if made else b""
    return request.body.head + parts + request.body.tail if made else request.raw


def _of_session(request: Request, session: str) -> _Known:
    return ClientConversation.objects.of(request.owner, request.dialect.name, session)


def _main_of(request: Request, session: str) -> Conversation | None:
    """Return the conversation of a named session that is no side request within it, if any."""
    for one in _of_session(request, session) if session else ():
        if one.parent is None or one.parent.client.session != session:
            return one.conversation
    return None


def _with_history(known: _Known, request: Request) -> Conversation | None:
    """Return the conversation that has the longest beginning of a history."""
    entries = [one for one in request.history.entries if not one.is_told]
    if any(map(_refers, entries)):
        return None
    rows = HistoryLink.objects.filter(message__conversation__client__in=known.values("pk"))
    rows = rows.select_related("message__conversation__client")
    for end in range(len(entries), 0, -AT_ONCE):
        part = [one.digest for one in entries[max(0, end - AT_ONCE) : end]]
        found = rows.filter(digest__in=part).order_by("message__conversation__updated_at")
        by = defaultdict[bytes, list[Message]](list)
        for link in found:
            by[bytes(link.digest)].append(link.message)
        if there := next((by[one] for one in reversed(part) if one in by), None):
            return _going_on(there, request)
    return None


def _with_end(known: _Known, request: Request) -> Conversation | None:
    """Return the only conversation that has the end of a history, up to its last answer.

    Programs drop their oldest messages, refer to answers, or send them back in another form. If
    all messages are stored, the history continues there.
    """
    entries = [one for one in request.history.entries if not one.is_told]
    while entries and entries[-1].role != "assistant":
        entries.pop()
    newest = known.order_by("-conversation__updated_at")[:MOST_RECENT]
    ends = [end for one in newest if (end := _end_of(one.conversation, entries))]
    if len(ends) == 1 and [likeness for likeness, _one in ends[0]] == [1] * len(entries):
        stored = [bytes(one.history_link.digest) for _likeness, one in ends[0]]
        request.told = replace(request.told, stored=stored)
        request.history = naming.read_history(request.told, request.dialect, b"")
    return ends[0][0][1].conversation if len(ends) == 1 else None


def _end_of(talk: Conversation, entries: Sequence[Entry]) -> list[tuple[float, Message]]:
    """Return the stored messages that a history ends with; none without a recorded answer."""
    rows = talk.messages.in_force().filter(history_link__isnull=False).order_by("-seq")
    rows, best = [*rows.select_related("call", "history_link")[: len(entries) + NEWEST]], []
    for first in range(len(rows)):
        pairs = (
            (_likeness(*one), one[1]) for one in zip(entries[::-1], rows[first:], strict=False)
        )
        best = max(best, [*takewhile(lambda one: one[0] >= ALIKE, pairs)], key=len)
    is_recorded = len(best) > 1 and any(hasattr(one, "call") for _likeness, one in best)
    return best[::-1] if is_recorded else []


def _likeness(entry: Entry, row: Message) -> float:
    """Return 1 for a stored message, or a reference to it, and less for an answer like it."""
    own = [one for one in row.content if condense.BESIDE not in one]
    told, is_answer = ((entry.role, entry.content), (row.role, own)), hasattr(row, "call")
    is_same = len({HistoryLink.digest_behind(b"", *one) for one in told}) == 1
    if is_same or entry.role != "assistant" or not is_answer or _refers(entry):
        return is_same or (is_answer and _refers(entry))
    here, there = ({*re.findall(r"\w+", str(content))} for _role, content in told)
    return 0.99 * len(here & there) / (min(len(here), len(there)) or 1)


def _refers(entry: Entry) -> bool:
    return {one["type"] for one in entry.content} == {"item_reference"}


def _going_on(found: Sequence[Message], request: Request) -> Conversation | None:
    """Return the conversation of one of these messages that a request continues, or makes fork.

    A question and a program's own examples may be anybody's: without an answer that was recorded
    before, its request has to be alike, and a nameless one has to come first.
    """
    found = [one for one in found if one.conversation.client.parent_id is None] or found
    ends = [one for one in found if one.seq == one.conversation.last_seq]
    if not ends and len(found) > 1 and not request.name.session:
        return None
    message = (ends or found)[-1]
    talk = message.conversation
    if talk.calls.filter(message__seq__lte=message.seq).exists():
        return talk
    waits = bool(ends) and not talk.calls.filter(status="running").exists()
    # Agents of a session may be asked the same at once.
    is_main = request.name.session and talk.client.parent_id is None
    return talk if (is_main or waits) and _is_alike(talk, request) else None


def _head_of(conversation: Conversation, request: Request) -> Told:
    """Return the facts of a conversation's newest request, without its history."""
    call = conversation.calls.filter(manifest__isnull=False).order_by("-pk").first()
    if call is None:
        return Told(())
    parts = RequestReader(conversation.pk).parts(call.manifest)
    return request.dialect.read(read_body(parts.head + parts.tail, "").value)


def _has_tools(conversation: Conversation, request: Request) -> bool:
    return bool(_head_of(conversation, request).tools)


def _is_alike(conversation: Conversation, request: Request) -> bool:
    return naming.are_alike(_head_of(conversation, request), request.told)


def _begin(request: Request, parent: Conversation | None) -> Conversation:
    made: Conversation = insert(Conversation(owner=request.owner, profile=request.profile))
    columns = {"program": request.program, "session": request.name.session}
    insert(ClientConversation(conversation=made, dialect=request.dialect.name, **columns))
    _put_beside(made, parent)
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


@transaction.atomic
def continue_here(*, conversation: Conversation) -> None:
    """Let a conversation of another program go on here; its next request begins another one."""
    lock(Conversation, conversation.pk)
    ClientConversation.objects.open().filter(pk=conversation.pk).update(is_open=False)
    HistoryLink.objects.filter(message__conversation=conversation).delete()
    # It was signed behind that program's prompt.
    conversation.messages.all().stop_sending_thinking()
    if conversation.profile is None:
        default = preferences_of(conversation.owner).default_profile
        Conversation.objects.filter(pk=conversation.pk).update(profile=default)
