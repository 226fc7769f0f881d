"""Turns: each begins once with its question, and ends once with its result."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from chatapp.agent.errors import TurnEndedElsewhere
from chatapp.conversations.context.condense_requests import CondenseRequest, read_request
from chatapp.conversations.context.turn_context import TurnContext, read_run
from chatapp.conversations.conversations import check_spending
from chatapp.conversations.locks import CLIENTS
from chatapp.models import (
    Conversation,
    Preferences,
    ServerSettings,
    Turn,
    TurnRequest,
    message_store,
)
from chatapp.models.database import SqlStatement, insert, lock, only, row_locks, select, together
from chatapp.models.errors import Busy, Refused, TooManyTurns
from chatapp.models.processes import this_process
from chatapp.models.spending import limits_of
from chatapp.models.turns import claim as claim_turn
from chatapp.operations import background_jobs
from chatapp.project import telemetry
from chatapp.project.sentences import translate as _
from chatapp.turns.turn_records import close_what_is_open


@contextmanager
def locked_for_new_turn(
    conversation: Conversation, nonce: uuid.UUID
) -> Iterator[Conversation | None]:
    """Yield the locked conversation, or None if this nonce has a turn.

    Raises Busy while another turn is unfinished.
    """
    with transaction.atomic(savepoint=False):
        locked = message_store.lock_for_turn(conversation.pk, nonce)
        if locked.is_known:
            yield None
        elif locked.runs:
            raise busy(condenses=locked.runs == Turn.Origin.CONDENSED)
        elif locked.is_clients:
            raise Refused(CLIENTS)
        else:
            yield locked


def busy(*, condenses: bool = False) -> Busy:
    """Return the refusal of a turn while another one runs."""
    if condenses:
        return Busy(_("The context is being condensed. Cancel that first, or wait."))
    return Busy(_("The previous turn is still running. Stop it first, or wait."))


def open_turn(locked: Conversation, nonce: uuid.UUID, **how: Any) -> Turn:
    """Store a turn as ``new_turn`` makes it."""
    turn: Turn = insert(new_turn(locked, nonce, **how))
    return turn


def new_turn(
    locked: Conversation,
    nonce: uuid.UUID,
    *,
    question_seq: int,
    origin: Turn.Origin = Turn.Origin.SENT,
    zone: str = "",
    profile_id: int | None = None,
) -> Turn:
    """Return a turn to be stored, owned by this process unless a worker is to claim it.

    The conversation's profile answers message ``question_seq``, unless another is given; its sender
    is in this time ``zone``. Refused at a spending limit, unless it condenses, which may need no
    model; and if its owner has too many turns.
    """
    if origin != Turn.Origin.CONDENSED:
        stored = locked.preferences or Preferences()
        check_spending(locked.pk, limits_of(locked, stored, is_closing=locked.is_closing))
    check_turns(locked)
    return Turn(
        owner="" if settings.CLUSTER else this_process(),
        attempt=0 if settings.CLUSTER else 1,
        offered_at=locked.moment if settings.CLUSTER else None,
        zone=zone,
        conversation=locked,
        nonce=nonce,
        origin=origin,
        question_seq=question_seq,
        at_seq=locked.last_seq,
        profile_id=profile_id or locked.profile_id,
    )


def check_turns(conversation: Conversation) -> None:
    """Raise TooManyTurns if the owner's other unfinished turns are as many as allowed at once.

    None of these begins or ends before the commit.
    """
    if not ServerSettings.binds(conversation.owner):
        return
    others = conversation.others
    if others is None:
        others = message_store.lock_for_turn(conversation.pk, uuid.uuid4()).others
    # Most have none, and the limit is at least one.
    most = ServerSettings.binding(conversation.owner).turns_at_once if others else None
    if most is None or others < most:
        return
    words = _(
        "You may have {count:,} turn at once, and it is not over. Wait for it, answer what it "
        "asks, or stop it.",
        "You may have {count:,} turns at once, and none of yours is over. Wait for one, answer "
        "what it asks, or stop it.",
        count=most,
    )
    raise TooManyTurns(words, retry_after=10)


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnEnd:
    """The end of a turn, with the error that the transcript shows, and its follow-ups."""

    turn: Turn
    status: Turn.Status
    error: str = ""
    details: str = ""
    profile_at_fault: bool = False
    was_put_off: bool = True  # a condensation was; it may begin by itself next time
    is_done: bool = False  # the next message is sent
    request: CondenseRequest | None = None  # not carried out: a job does it
    follow: Callable[[], object] = list  # may enqueue more

    def looking(self) -> list[SqlStatement]:
        """Return the queries before the end is stored, for a locked conversation."""
        turn, owner = self.turn, self.turn.conversation.owner_id
        waits = (
            "SELECT EXISTS (SELECT 1 FROM chatapp_queuedmessage WHERE conversation_id = %s "
            "AND gone_at IS NULL AND (is_next OR %s)) OR EXISTS (SELECT 1 FROM "
            "chatapp_queuedmessage q WHERE gone_at IS NULL AND is_next AND %s = (SELECT owner_id "
            "FROM chatapp_conversation c WHERE c.id = q.conversation_id))"
        )
        asked = (
            "SELECT * FROM chatapp_turnrequest WHERE turn_id = %s AND kind = %s "
            "AND taken_at IS NULL ORDER BY id DESC LIMIT 1"
        )
        # A message that waits for this end is queued by now, or begins after it.
        binds = ServerSettings.binds(turn.conversation.owner)
        return [
            *(row_locks(User, owner) if binds else ()),
            SqlStatement(waits, (turn.conversation_id, self.is_done, owner), only),
            select.query(TurnRequest, asked, turn.pk, TurnRequest.Kind.CONDENSE),
        ]

    def storing(self) -> SqlStatement:
        """Return the statement that stores the end: see ``Turn.finishing``."""
        fault = self.profile_at_fault
        return self.turn.finishing(self.status, self.error, self.details, profile_at_fault=fault)

    def let_follow(self, waits: bool, asked: list[TurnRequest]) -> None:
        """Enqueue the follow-ups of the end, from the results of ``looking``."""
        turn, request = self.turn, self.request
        if self.was_put_off:
            message_store.put_off(turn.conversation, False)
        if self.status != Turn.Status.SUCCEEDED or self.error:
            message_store.note_record(turn.conversation_id)
        if asked:
            request = CondenseRequest.from_json(asked[0].nonce, asked[0].details)
        if waits or request:
            enqueue_next(turn, request, is_done=self.is_done)
        self.follow()
        transaction.on_commit(telemetry.turns.labels(self.status).inc)


def finish_turn(end: TurnEnd | None = None, /, **how: Any) -> bool:
    """Close a turn and its open records by a ``TurnEnd``, or one made of these fields.

    One that is over already, or was taken over by another process since, stays as it is, and False
    is returned.
    """
    end = end or TurnEnd(**how)
    turn = end.turn
    with transaction.atomic(savepoint=False):
        *_locks, waits, asked = together(
            *row_locks(Conversation, turn.conversation_id), *end.looking()
        )
        if end.status != Turn.Status.SUCCEEDED:
            try:
                turn.hold()
            except TurnEndedElsewhere:
                return False
            close_what_is_open(turn, end.error)
        (finished,) = together(end.storing())
        if finished:
            end.let_follow(waits, asked)
        return bool(finished)


def enqueue_next(turn: Turn, request: CondenseRequest | None, *, is_done: bool) -> None:
    """Enqueue the follow-up of a turn: the ``request``, or the next message."""
    said = {"nonce": str(request.nonce), "details": request.to_json()} if request else None
    background_jobs.enqueue("follow_turn", turn=str(turn.pk), is_done=is_done, wish=said)


def claim(turn_id: uuid.UUID, attempt: int) -> TurnContext | None:
    """Claim a turn that had so many attempts for this process, and return its run.

    Return None if it is over or taken. A turn that can't go on is interrupted.
    """
    where = "c.id = (SELECT conversation_id FROM chatapp_turn WHERE id = %s)"
    turn, conversations = together(
        claim_turn.query(turn_id, attempt), message_store.whole(where, turn_id)
    )
    if turn is None:
        return None
    turn.conversation = conversations[0]
    try:
        return read_run(turn.conversation, turn=turn, request=read_request(turn))
    except Refused as reason:
        finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=str(reason))
    return None


def hand_over(
    turn: Turn,
    request: CondenseRequest | None = None,
    *,
    enqueue: Callable[[Turn], None] = background_jobs.enqueue_turn,
) -> None:
    """Have another worker go on with a turn whose step is stored; one that waits does so alone.

    The ``request`` that the turn has not carried out goes along.
    """
    with suppress(TurnEndedElsewhere), transaction.atomic():
        lock(Conversation, turn.conversation_id)
        turn.hand_over()
        _give_back(turn, request)
        if not Turn.objects.asking().filter(pk=turn.pk).exists():
            enqueue(turn)


def release(turn: Turn, request: CondenseRequest | None = None) -> bool:
    """Release a turn that waits for a person; return False if it goes on, or is lost.

    The ``request`` that the turn has not carried out is released with it.
    """
    with suppress(TurnEndedElsewhere), transaction.atomic():
        if turn.release():
            _give_back(turn, request)
            return True
    return False


def _give_back(turn: Turn, request: CondenseRequest | None) -> None:
    """Mark a request as not taken, for the next process that claims the turn."""
    if request:
        turn.requests.filter(nonce=request.nonce).update(taken_at=None)


def stop_unclaimed(conversation_id: uuid.UUID, named: uuid.UUID | None) -> bool:
    """Stop the unclaimed turn of this id or nonce, or any; False if there is none."""
    found = Turn.objects.unfinished().filter(conversation=conversation_id, owner="")
    if named:
        found = found.filter(Q(pk=named) | Q(nonce=named))
    turn = found.first()
    # If it is claimed meanwhile, it is not ended as an unclaimed one.
    return turn is not None and finish_turn(turn=turn, status=Turn.Status.STOPPED)
