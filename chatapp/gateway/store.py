"""Rows of requests that passed: messages of clients, and calls with their bytes."""

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.db.models import Sum

import condense
from chatapp.agent.annotated_blocks import forgotten_by
from chatapp.agent.events import SentRequest
from chatapp.conversations import forgotten_passages
from chatapp.conversations.context import sizes
from chatapp.conversations.conversations import title_of
from chatapp.conversations.locks import lock
from chatapp.conversations.rewind import set_tail_aside, show_version
from chatapp.gateway import naming
from chatapp.gateway.bodies import read_body
from chatapp.gateway.folds import fold_if_due
from chatapp.gateway.naming import DigestedMessage
from chatapp.gateway.requests import GatewayRequest
from chatapp.gateway.rewrites import Rewriter, summaries_of
from chatapp.gateway.splices import Splicer
from chatapp.models import (
    ApiToken,
    Conversation,
    HistoryLink,
    Message,
    ModelCall,
    Profile,
    Rewind,
    Turn,
    message_store,
)
from chatapp.models.database import changing, insert, next_key, now, together
from chatapp.models.errors import Refused
from chatapp.models.messages import MessageQuerySet
from chatapp.models.processes import this_process
from chatapp.project.telemetry import note_call
from chatapp.records.transfer.source_texts import fields, joined
from chatapp.storage.request_log import RequestLog

# Requests of so many conversations are stored as differences to the one before.
MOST_LOGS = 100
# Blocks are counted before their conversation is locked, and known while it is.
_COUNTER = condense.CachedCounter(sizes.COUNTER)


@dataclass(frozen=True, slots=True)
class Opened:
    """A request on record."""

    request: GatewayRequest
    conversation: Conversation
    call: ModelCall
    sent: bytes  # as it goes out
    view: bytes  # of its answer
    problem: str  # for a row
    folds: Sequence[Message]  # summaries in it


def find_new(request: GatewayRequest, conversation: Conversation) -> list[condense.Message]:
    """Return the messages of a request that are not stored, to be counted without a lock."""
    entries = request.history.entries
    links = HistoryLink.objects.filter(message__conversation=conversation)
    links = links.filter(digest__in=[one.digest for one in entries])
    known = {bytes(one) for one in links.values_list("digest", flat=True)}
    new = [one for one in entries if one.is_told or one.digest not in known]
    shown = [{"role": one.role, "content": one.content} for one in new]
    return [*map(condense.Message.from_api, shown)]


def count(*messages: condense.Message) -> int:
    """Return the tokens of messages: a long text takes seconds, and nothing the second time."""
    return sum([_COUNTER.count((block,)) for one in messages for block in one.blocks])


def open_call(request: GatewayRequest, conversation: Conversation) -> Opened:
    """Store the new messages of a request and its call, before the answer is there."""
    entries, log = request.history.entries, _log_of(conversation.pk)
    with lock(conversation, keeps_pins=False) as locked:
        locked.owner = request.owner
        # A question of the client's own is no part of the talk.
        aside = locked.last_seq and naming.asks_aside(request.headers, request.told)
        rewriter = Rewriter(request, locked)
        seqs = [0] * len(entries) if aside else _take(locked, rewriter, log)
        known = locked.measured_tokens or 0
        size = max(known, _tokens_of(locked.messages.filter(hidden=False)))
        # A program's own summary is best made of all there is.
        made = rewriter.rewrite(is_folded=aside != "summary" or not _has_room(locked, size))
        purpose = ModelCall.Purpose.SUMMARY if aside else ModelCall.Purpose.CHAT
        call = ModelCall(
            conversation_id=locked.pk, owner=this_process(), created_at=request.arrived
        )
        call.purpose, call.model = purpose, request.model
        call.profile_name = request.profile.name if request.profile else ""
        call.provider, call.usage_measured = request.dialect.provider, False
        sent = _as_sent(request, seqs, made)
        # All that is known if nothing is reported before a crash.
        call.tokens_input, call.tokens_cache_read = size - known, known
        call.cost = _cost_of(request, call.usage)
        if new := [one for one in seqs if one and not log.knows(one)]:
            log.learn(Message.objects.filter(conversation=locked.pk, seq__in=new))
        compared = log.compare(sent)
        call.pk, stored = together(next_key(ModelCall), log.looking(compared))
        written = log.store(call, sent, compared, stored)
        together(changing(ApiToken, request.token.pk, used_at=now(), program=request.program))
    log.written = written
    view, problem = made.view if made else b"", request.problem or rewriter.problem
    body = sent.body if made else request.raw
    return Opened(request, locked, call, body, view, problem, rewriter.folds)


def _has_room(locked: Conversation, size: int) -> bool:
    """Return True if the model has room for all that summaries hide, too."""
    hidden = locked.messages.in_force().filter(hidden=True, history_link__isnull=False)
    profile = locked.answering
    return profile is None or size + _tokens_of(hidden) <= profile.context_window


def _tokens_of(messages: MessageQuerySet) -> int:
    """Return the tokens of messages together."""
    return messages.aggregate(size=Sum("tokens"))["size"] or 0


def _take(locked: Conversation, rewriter: Rewriter, log: RequestLog) -> list[int]:
    """Store the new messages of a history; return the number of each of its messages, or 0."""
    # Where the two part, what is stored is set aside: as a version, or as a history that the client
    # has replaced. A version that the client went back to is shown again.
    entries = rewriter.entries
    known: dict[bytes, Message] = {}
    if locked.last_seq:
        links = HistoryLink.objects.filter(message__conversation=locked)
        links = links.filter(digest__in=[one.digest for one in entries]).select_related("message")
        known = {bytes(one.digest): one.message for one in links.order_by("message__seq")}
    common = _in_common(entries, known)
    aside = [known[one.digest] for one in entries[common:] if one.digest in known]
    if aside and _brought_back(locked, aside[-1].rewind_parent):
        for message in known.values():
            message.refresh_from_db(fields=["rewind_parent"])
        common = _in_common(entries, known)
    # An instruction that stands behind an old message comes again with each request.
    is_new = not common or not all(one.is_told for one in entries[common:])
    fresh = entries[common:] if is_new else ()
    said = [one for one in fresh if not one.is_told]
    if locked.last_seq:
        _part(locked, entries[:common], known, said)
    seqs = [
        0 if one.is_told or one.digest not in known else known[one.digest].seq
        for one in entries[:common]
    ]
    views = _views_of(locked, said)
    for one in fresh:
        recall = rewriter.recall if one in said[-1:] else tuple
        view = views.get(one.digest)
        seqs.append(_append(locked, log, one, view, recall) if one.content else 0)
    return [*seqs, *[0] * (len(entries) - len(seqs))]


def _views_of(locked: Conversation, said: Sequence[DigestedMessage]) -> dict[bytes, bytes]:
    """Return the views of answers that another conversation of the owner's got, by digest."""
    digests = [one.digest for one in said if one.role == "assistant"]
    known = HistoryLink.objects.filter(message__conversation__owner=locked.owner_id)
    known = known.filter(digest__in=digests, view__isnull=False)
    return {bytes(one.digest): bytes(one.view or b"") for one in known} if digests else {}


def _in_common(entries: Sequence[DigestedMessage], known: Mapping[bytes, Message]) -> int:
    """Return the length of a history's beginning that is stored and shown."""
    for place in range(len(entries), 0, -1):
        one = entries[place - 1]
        found = None if one.is_told else known.get(one.digest)
        if found and found.rewind_parent is None:
            return place
    return 0


def _brought_back(locked: Conversation, rewind: uuid.UUID | None) -> bool:
    """Show the version again that the client returned to; return False if that fails."""
    known = Rewind.objects.filter(version__isnull=False)
    record = known.filter(pk=rewind).first() if rewind else None
    try:
        if record:
            show_version(locked, record)
    except Refused:
        return False
    return record is not None


def _part(
    locked: Conversation,
    common: Sequence[DigestedMessage],
    known: Mapping[bytes, Message],
    fresh: Sequence[DigestedMessage],
) -> None:
    """Set aside the stored messages behind the common beginning of two histories."""
    last = known[common[-1].digest].seq if common else 0
    shown = locked.messages.in_force()
    behind = shown.filter(seq__gt=last).order_by("seq")
    tail = behind.filter(history_link__isnull=False).first()
    if tail is None:
        return
    shares = any(one.role == "assistant" for one in common)
    is_other = len(fresh) > 1 and not shares and shown.filter(role="assistant").exists()
    if not common or is_other or _has_summary(locked, fresh):
        # The rules before it were replaced, too.
        set_tail_aside(locked, behind[0].seq, last, Rewind.Cause.REPLACED)
    else:
        set_tail_aside(locked, tail.seq, last)


def _has_summary(locked: Conversation, fresh: Sequence[DigestedMessage]) -> bool:
    """Return True if the summary is in these messages that the program asked for last."""
    asked = locked.calls.filter(purpose=ModelCall.Purpose.SUMMARY, message=None).exclude(draft="")
    made = asked.order_by("-pk").values_list("draft", flat=True).first()
    said = joined(json.loads(made)).strip() if made else ""
    return bool(said) and said in joined([one.content for one in fresh])


def _append(
    locked: Conversation,
    log: RequestLog,
    entry: DigestedMessage,
    view: bytes | None,
    recall: Callable[[], Sequence[dict[str, Any]]],
) -> int:
    said = condense.Message.from_api({"role": entry.role, "content": entry.content})
    forgets = forgotten_passages.block_for(locked, said.words if entry.role == "user" else "")
    content = [*entry.content, *([one.to_api() for one in forgets] or recall())]
    message = condense.Message.from_api({"role": entry.role, "content": content})
    row = _stored(locked, message)
    locked.last_seq = row.seq
    if any(forgotten_by(content)):
        forgotten_passages.forget(row)
    log.learn([row])
    if not entry.is_told:
        insert(HistoryLink(message=row, digest=entry.digest, view=view))
    if entry.role == "user" and not locked.title and message.words:
        locked.title = title_of(message.words)
        together(changing(Conversation, locked.pk, title=locked.title))
    return row.seq


def _stored(locked: Conversation, message: condense.Message, **columns: Any) -> Message:
    return message_store.append_message(locked.pk, message, tokens=count(message), **columns)


@lru_cache(MOST_LOGS)
def _log_of(pk: uuid.UUID) -> RequestLog:
    return RequestLog(pk)


def _as_sent(request: GatewayRequest, seqs: Sequence[int], made: Splicer | None) -> SentRequest:
    body, places = request.body, request.history.places
    parts = tuple(body.parts)
    if made:
        parts, places = zip(*made.parts, strict=True)
    numbers = [seqs[place] if place >= 0 else 0 for place in places[: len(parts)]]
    numbers += [0] * (len(parts) - len(numbers))
    whole = b"".join((body.head, b",".join(parts), body.tail))
    digest = hashlib.sha256(whole).digest()
    return SentRequest(body.head, parts, body.tail, tuple(numbers), whole, digest)


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """The end of a request; a ``turn`` of this status explains missing parts of its record."""

    blocks: Sequence[condense.Block]
    usage: condense.Usage
    stop_reason: str
    columns: Mapping[str, Any]
    turn: Turn.Status | None = None


def estimate_prompt(opened: Opened) -> int:
    """Return an estimate of a request's tokens, as it was sent."""
    dialect, body = opened.request.dialect, read_body(opened.sent, "").value
    body = body or opened.request.body.value
    told = dialect.read(body)
    entries = naming.read_history(told, dialect, b"").entries
    said = [{"role": one.role, "content": one.content} for one in entries if not one.is_told]
    heads = [body.get(name) for name in ("system", "instructions")]
    heads += [fields(one).get("content") for one in told.items if naming.is_of_system(one)]
    text = "".join(map(joined, heads)) + json.dumps(body.get("tools", ""))
    return sizes.COUNTER.count(text) + sizes.sum_tokens([*map(condense.Message.from_api, said)])


def close_call(opened: Opened, outcome: RequestOutcome) -> None:
    """Store an answer as far as it came, its usage and cost, and the error that ended it."""
    call, columns = opened.call, dict(outcome.columns)
    with lock(opened.conversation, keeps_pins=False) as locked:
        # The measured size of a request without today's folds is not that of the history.
        is_current = opened.folds == summaries_of(locked.pk)
        size = _size_of(outcome) if is_current else 0
        message = _answer(locked, opened, outcome, size) if outcome.blocks else None
        if message and columns["status"] == "succeeded" and not outcome.turn:
            # Some providers report no usage unless they are asked.
            shown = locked.messages.filter(hidden=False)
            fold_if_due(opened.request, locked, size or _tokens_of(shown))
        if outcome.blocks and message is None:
            columns["draft"] = json.dumps([one.to_api() for one in outcome.blocks])
        cost = _cost_of(opened.request, outcome.usage)
        if outcome.turn:
            columns["turn"] = Turn.objects.note(locked, outcome.turn, columns["error"])
        columns |= message_store.usage_columns(outcome.usage) | {"message": message, "cost": cost}
        running = ModelCall.objects.filter(pk=call.pk, status=ModelCall.Status.RUNNING)
        running.update(**columns)
        call.pieces.all().delete()
        message_store.note_record(locked.pk)
    note_call(call.purpose, columns["status"], outcome.usage, cost)


def _answer(
    locked: Conversation, opened: Opened, outcome: RequestOutcome, size: int
) -> Message | None:
    """Store an answer as the newest message; None if the client has gone on without it."""
    is_talk = opened.call.purpose == ModelCall.Purpose.CHAT
    request, entries = opened.request, opened.request.history.entries
    root = naming.root_of(request.owner.pk, request.dialect.name)
    digests = [root, *[one.digest for one in entries]]
    if not is_talk or HistoryLink.newest_in(locked.pk) not in {None, digests[-1]}:
        return None
    message = condense.Message("assistant", tuple(outcome.blocks))
    is_measured = outcome.columns["usage_measured"] and locked.profile_id and size
    measured = (locked.profile_id, size) if is_measured else None
    row = _stored(locked, message, stop_reason=outcome.stop_reason, measured=measured)
    # A client that has begun the answer sends both back as one.
    begun = entries[-1].content if entries and entries[-1].role == "assistant" else ()
    HistoryLink.put_behind(digests[-2 if begun else -1], row, *begun, view=opened.view)
    return row


def _size_of(outcome: RequestOutcome) -> int:
    """Return the tokens of a request with its answer, 0 if its provider reported none."""
    return outcome.usage.prompt and outcome.usage.prompt + outcome.usage.output


def _cost_of(request: GatewayRequest, usage: condense.Usage) -> Decimal | None:
    """Return the cost of a call, by a profile of its model at the same server or by the list.

    A profile with a key of the user's own says nothing of what the server's key pays for.
    """
    provider, model = request.dialect.provider, request.model
    profile = request.profile or Profile(owner=request.owner, provider=provider)
    if profile.model != model:
        known = request.owner.profiles.filter(provider=provider, model=model)
        made = known.select_related("owner", "origin__owner")
        bill = (profile.reached.base_url, profile.is_servers)
        others = (one for one in made if (one.reached.base_url, one.is_servers) == bill)
        profile = next(others, None) or profile.for_model(model)
    return profile.cost_of(usage)
