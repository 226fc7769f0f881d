"""Rows of what the gateway passes on: conversations of clients, their messages and calls."""

import hashlib
import json
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import models, transaction
from django.utils import timezone

import condense
from chatapp.agent.events import SentRequest
from chatapp.context import sizes
from chatapp.conversations.conversations import set_title_from
from chatapp.conversations.rewind import set_tail_aside, show_version
from chatapp.errors import Refused
from chatapp.gateway import naming
from chatapp.gateway.bodies import Body, read_body
from chatapp.gateway.dialects import Dialect, Told
from chatapp.gateway.naming import Entry, History, Name
from chatapp.models import (
    ApiToken,
    ClientConversation,
    Conversation,
    HistoryLink,
    Message,
    ModelCall,
    Profile,
    Rewind,
    Turn,
    hidden_messages,
    message_store,
)
from chatapp.models.database import insert, lock, now
from chatapp.models.processes import this_process
from chatapp.providers import provider_spec
from chatapp.storage.request_log import RequestLog
from chatapp.storage.request_reader import RequestReader
from chatapp.telemetry import note_call

# Requests of so many conversations are stored as differences to the one before.
MOST_LOGS = 100
# From this share on two requests are of the same agent.
ALIKE = 0.5
# Digests that are looked for in one query, beginning with the longest history.
AT_ONCE = 50
_PURPOSES = {False: ModelCall.Purpose.CHAT, True: ModelCall.Purpose.SUMMARY}

_logs: OrderedDict[uuid.UUID, RequestLog] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it arrived."""

    token: ApiToken
    dialect: Dialect
    profile: Profile | None
    headers: Mapping[str, str]
    body: bytes
    program: str


@dataclass(frozen=True, slots=True)
class Sent:
    """A request with all that is known of it."""

    asked: Asked
    model: str
    body: Body
    told: Told
    name: Name

    @property
    def owner(self) -> User:
        """Whose request it is."""
        return self.asked.token.owner


@dataclass(slots=True)
class Opened:
    """A request on record: its ``call``, and the digest of the history that it showed.

    The ``problem`` says what of it is missing on record.
    """

    sent: Sent
    conversation: Conversation
    call: ModelCall
    digest: bytes
    problem: str = ""


def find_conversation(sent: Sent, history: History) -> tuple[Conversation, bool]:
    """Return the conversation of a request, and whether it is new.

    A name decides, then what is stored of the history. Within a session, a request of another kind
    is a conversation beside it.
    """
    with transaction.atomic():
        # Two requests of one session come at once.
        lock(User, sent.owner.pk)
        known = ClientConversation.objects.of(
            sent.owner, sent.asked.dialect.name, sent.name.session
        )
        if found := _with_history(known, sent, history):
            return found, False
        there = [*known] if sent.name.session else []
        main = next((one.conversation for one in there if one.parent_id is None), None)
        if main is not None and _is_alike(main, sent):
            return main, False
        made = _begin(sent, main or _parent_of(sent))
        if main and sent.told.tools and not _head_of(main, sent).tools:
            # The first request was for a title, or only tried whether somebody answers.
            _put_beside(main, made)
            _put_beside(made, None)
        return made, True


def _with_history(
    known: "models.QuerySet[ClientConversation]", sent: Sent, history: History
) -> Conversation | None:
    """Return the conversation that has the longest beginning of a history.

    One with an answer in it is nobody else's. A question alone may be anybody's: it is found by the
    same kind of request, and where that has no name only while nothing has answered it.
    """
    entries = [one for one in history.entries if not one.is_told]
    answered = next((n for n, one in enumerate(entries) if one.role == "assistant"), len(entries))
    rows = HistoryLink.objects.filter(message__conversation__client__in=known.values("pk"))
    rows = rows.select_related("message__conversation")
    for end in range(len(entries), 0, -AT_ONCE):
        part = [one.digest for one in entries[max(0, end - AT_ONCE) : end]]
        found = rows.filter(digest__in=part).order_by("message__conversation__updated_at")
        by = {bytes(one.digest): one for one in found}
        for place, digest in reversed([*enumerate(part, end - len(part))]):
            if link := by.get(digest):
                talk = link.message.conversation
                is_own = sent.name.session or _waits(link)
                return talk if place >= answered or (is_own and _is_alike(talk, sent)) else None
    return None


def _waits(link: HistoryLink) -> bool:
    """Whether nothing came after a message, and nothing is on its way."""
    talk = link.message.conversation
    return talk.last_seq == link.message.seq and not talk.calls.filter(status="running").exists()


def _head_of(conversation: Conversation, sent: Sent) -> Told:
    """Return what the newest request of a conversation says, without its history."""
    call = conversation.calls.filter(manifest__isnull=False).order_by("-pk").first()
    if call is None:
        return Told(())
    parts = RequestReader(conversation.pk).parts(call.manifest)
    return sent.asked.dialect.read(read_body(parts.head + parts.tail, "").value)


def _is_alike(conversation: Conversation, sent: Sent) -> bool:
    """Whether a request is of the agent that wrote a conversation."""
    before = _head_of(conversation, sent)
    same_tools = bool(before.tools) == bool(sent.told.tools)
    likeness = naming.likeness(naming.kind_of(before), naming.kind_of(sent.told))
    return same_tools and likeness >= ALIKE


def _parent_of(sent: Sent) -> Conversation | None:
    """Return the conversation that a sub-agent works for."""
    if not sent.name.parent:
        return None
    known = ClientConversation.objects.of(sent.owner, sent.asked.dialect.name, sent.name.parent)
    found = known.filter(parent=None).first()
    return found.conversation if found else None


def _begin(sent: Sent, parent: Conversation | None) -> Conversation:
    made = Conversation(owner=sent.owner, profile=sent.asked.profile)
    made.save(force_insert=True)
    insert(
        ClientConversation(
            conversation=made,
            program=sent.asked.program,
            dialect=sent.asked.dialect.name,
            session=sent.name.session,
        )
    )
    _put_beside(made, parent)
    return made


def _put_beside(conversation: Conversation, parent: Conversation | None) -> None:
    """Make a conversation one beside another, in the archive, or one of its own."""
    ClientConversation.objects.filter(pk=conversation.pk).update(parent=parent)
    at = timezone.now() if parent else None
    Conversation.objects.filter(pk=conversation.pk).update(archived_at=at)


def open_call(sent: Sent, conversation: Conversation, history: History) -> Opened:
    """Store what is new in a request and the call, before the answer is there."""
    with transaction.atomic():
        locked = message_store.lock_conversation(conversation.pk)
        locked.owner = sent.owner
        # What asks for a summary is no part of the talk that it is of.
        summarises = locked.last_seq and naming.asks_for_summary(sent.asked.headers, sent.told)
        seqs = [0] * len(history.entries) if summarises else _take(locked, history)
        call = insert(
            ModelCall(
                conversation_id=locked.pk,
                owner=this_process(),
                created_at=now(),
                purpose=_PURPOSES[bool(summarises)],
                profile_name=sent.asked.profile.name if sent.asked.profile else "",
                provider=sent.asked.dialect.provider,
                model=sent.model[:100],
                usage_measured=False,
            )
        )
        written = _log_of(locked.pk, seqs).write(call.pk, _as_sent(sent.body, history, seqs))
        ApiToken.objects.filter(pk=sent.asked.token.pk).update(
            used_at=now(), program=sent.asked.program
        )
    _logs[locked.pk].written = written
    digests = [one.digest for one in history.entries]
    root = naming.root_of(sent.owner.pk, sent.asked.dialect.name)
    return Opened(sent, locked, call, digests[-1] if digests else root)


def _take(locked: Conversation, history: History) -> list[int]:
    """Store what a history has beyond the stored one; return the number of each message, or 0.

    Where the two part, what is stored is set aside: as a version, or as a history that the client
    has replaced.
    """
    known = {
        bytes(one.digest): one.message
        for one in HistoryLink.objects.filter(
            message__conversation=locked, digest__in=[one.digest for one in history.entries]
        )
        .select_related("message")
        .order_by("message__seq")
    }
    for _try in range(2):
        common = _in_common(history.entries, known)
        aside = [known[one.digest] for one in history.entries[common:] if one.digest in known]
        hider = aside[-1].rewind_parent if aside else None
        if not (hider and _brought_back(locked, hider)):
            break
        for message in known.values():
            message.refresh_from_db(fields=["rewind_parent"])
    fresh = history.entries[common:]
    fresh = fresh if any(not one.is_told for one in fresh) or not common else []
    _part(locked, history.entries, common, known, fresh)
    seqs = [
        known[one.digest].seq if one.digest in known and not one.is_told else 0
        for one in history.entries[:common]
    ]
    seqs += [_append(locked, one) for one in fresh]
    return [*seqs, *[0] * (len(history.entries) - len(seqs))]


def _in_common(entries: Sequence[Entry], known: dict[bytes, Message]) -> int:
    """Return how many messages of a history end with one that is stored and shown."""
    for place in range(len(entries), 0, -1):
        one = entries[place - 1]
        found = None if one.is_told else known.get(one.digest)
        if found and found.rewind_parent is None:
            return place
    return 0


def _brought_back(locked: Conversation, rewind: uuid.UUID) -> bool:
    """Show a version again to which the client went back; False where that can't be."""
    record = Rewind.objects.get(pk=rewind)
    try:
        if record.version is None:
            return False
        show_version(locked, record)
    except Refused:
        return False
    return True


def _part(
    locked: Conversation,
    entries: Sequence[Entry],
    common: int,
    known: dict[bytes, Message],
    fresh: Sequence[Entry],
) -> None:
    """Set aside what is stored behind the common beginning of two histories."""
    last = known[entries[common - 1].digest].seq if common else 0
    tail = locked.messages.in_force().filter(seq__gt=last).order_by("seq")
    tail = tail.filter(history_link__isnull=False)
    first = tail.first()
    if first is None:
        return
    shared = any(one.role == "assistant" for one in entries[:common])
    answered = locked.messages.in_force().filter(role=Message.Role.ASSISTANT).exists()
    is_other = answered and not shared and len(fresh) > 1
    if not common or is_other:
        hidden_messages.rewind(locked.pk, first.seq, cause=Rewind.Cause.REPLACED)
    else:
        set_tail_aside(locked, first.seq, last)


def _append(locked: Conversation, entry: Entry) -> int:
    message = condense.Message.from_api({"role": entry.role, "content": entry.content})
    tokens = condense.count_message(message, sizes.COUNTER)
    row = message_store.append_message(locked.pk, message, tokens=tokens)
    if not entry.is_told:
        insert(HistoryLink(message=row, digest=entry.digest))
    if entry.role == "user" and not locked.title and message.words:
        set_title_from(locked, message.words)
        locked.title = message.words
    return row.seq


def _log_of(pk: uuid.UUID, seqs: Sequence[int]) -> RequestLog:
    """Return the request log of a conversation, which knows what may be sent."""
    log = _logs.pop(pk, None)
    new = set(seqs)
    if log is None:
        log = RequestLog(pk)
    else:
        new = {one for one in seqs if one and not log.knows(one)}
    log.learn(Message.objects.filter(conversation=pk, seq__in=new))
    _logs[pk] = log
    while len(_logs) > MOST_LOGS:
        _logs.popitem(last=False)
    return log


def _as_sent(body: Body, history: History, seqs: Sequence[int]) -> SentRequest:
    numbers = [seqs[place] if place >= 0 else 0 for place in history.places]
    numbers += [0] * (len(body.parts) - len(numbers))
    whole = b"".join((body.head, b",".join(body.parts), body.tail))
    digest = hashlib.sha256(whole).digest()
    parts = tuple(body.parts)
    return SentRequest(body.head, parts, body.tail, tuple(numbers[: len(parts)]), whole, digest)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended; ``turn`` is None for a whole answer."""

    blocks: Sequence[condense.Block]
    usage: condense.Usage
    stop_reason: str
    seconds: float
    seconds_to_first: float | None
    measured: bool = True
    error: str = ""
    turn: Turn.Status | None = None
    draft: str = ""
    request_id: str = ""
    reply_id: str = ""


def close_call(opened: Opened, outcome: Outcome) -> None:
    """Store an answer as far as it came, what it took, and why there is no more of it."""
    sent = opened.sent
    with transaction.atomic():
        locked = message_store.lock_conversation(opened.conversation.pk)
        message, draft = None, outcome.draft
        if outcome.blocks and opened.call.purpose == ModelCall.Purpose.CHAT:
            message = _answer(locked, opened, outcome)
        if outcome.blocks and message is None:
            draft = draft or json.dumps([one.to_api() for one in outcome.blocks])
        cost = _cost_of(sent, outcome.usage)
        status = ModelCall.Status.FAILED if outcome.turn else ModelCall.Status.SUCCEEDED
        ended = outcome.turn or (Turn.Status.SUCCEEDED if outcome.error else None)
        turn = Turn.objects.note(locked, ended, outcome.error) if ended else None
        ModelCall.objects.filter(pk=opened.call.pk, status=ModelCall.Status.RUNNING).update(
            **message_store.usage_columns(outcome.usage),
            usage_measured=outcome.measured,
            status=status,
            draft=draft,
            message=message,
            turn=turn,
            cost=cost,
            seconds=outcome.seconds,
            seconds_to_first=outcome.seconds_to_first,
            error=outcome.error,
            request_id=outcome.request_id,
            reply_id=outcome.reply_id,
        )
        message_store.note_record(locked.pk)
    note_call(opened.call.purpose, status, outcome.usage, cost)


def _answer(locked: Conversation, opened: Opened, outcome: Outcome) -> Message | None:
    """Store an answer as the newest message; None where the client has gone on without it."""
    newest = HistoryLink.newest_in(locked.pk)
    if newest not in (None, opened.digest):
        return None
    message = condense.Message("assistant", tuple(outcome.blocks))
    tokens = condense.count_message(message, sizes.COUNTER)
    row = message_store.append_message(
        locked.pk, message, tokens=tokens, stop_reason=outcome.stop_reason
    )
    digest = HistoryLink.digest_behind(opened.digest, "assistant", row.content)
    insert(HistoryLink(message=row, digest=digest))
    return row


def _cost_of(sent: Sent, usage: condense.Usage) -> Decimal | None:
    """Return what a call cost: by the profile of its model, or else by the provider's list."""
    profile, provider = sent.asked.profile, sent.asked.dialect.provider
    if profile is None or profile.model != sent.model:
        known = sent.owner.profiles.filter(provider=provider, model=sent.model)
        profile = known.select_related("owner", "origin__owner").first()
    listed = provider_spec(provider).prices_of(sent.model)
    return profile.cost_of(usage) if profile else listed.cost(usage)


def follow(sent: Sent) -> bytes | None:
    """Return the digest behind the answer that a request follows, None where it is not known."""
    calls = ModelCall.objects.filter(
        reply_id=sent.told.follows, conversation__owner=sent.owner, message__isnull=False
    )
    link = HistoryLink.objects.filter(message__call__in=calls).first()
    return bytes(link.digest) if link else None
