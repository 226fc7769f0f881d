"""Turns: each begins once with its question, and ends once with its result."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

import condense
from chatapp import background_jobs
from chatapp.accounts.accounts import preferences_of
from chatapp.agent.annotated_blocks import environment_block, names_of
from chatapp.agent.errors import TurnEnded
from chatapp.composer.attachments import Brought, attached_to, check_sight, take_attachments
from chatapp.context import sizes
from chatapp.context.condense_requests import CondenseRequest, read_request
from chatapp.context.turn_context import TurnContext, describe_surroundings, read_run
from chatapp.conversations import forgotten_passages
from chatapp.conversations.conversations import check_message, check_spending, set_title_from
from chatapp.conversations.rewind import set_message_aside
from chatapp.errors import Busy, Refused, TooManyTurns
from chatapp.live.incoming_frames import SendMessage
from chatapp.models import (
    Conversation,
    Preferences,
    ServerSettings,
    Turn,
    TurnRequest,
    message_store,
)
from chatapp.models.database import execute, insert, lock, now
from chatapp.models.errors import IndexDamaged
from chatapp.models.processes import this_process
from chatapp.sentences import translate as _
from chatapp.telemetry import tallies
from chatapp.toolbox.history_search import StoredRecall
from chatapp.turns.turn_records import close_what_is_open


def start_message(
    conversation: Conversation, command: SendMessage, brought: Brought
) -> TurnContext | None:
    """Store a message and open its turn; return None if its nonce was here before.

    The content that its text has ``brought`` becomes part of the message; so do attachments,
    surroundings and recalled passages. An earlier message that it ``replaces`` is set aside as a
    version. The title comes from the first message. Raises Refused if it can't begin.
    """
    text, replaces = command.text, command.replaces
    preferences = preferences_of(conversation.owner)
    surroundings = describe_surroundings(conversation, command.zone, preferences)
    with locked_for_new_turn(conversation, command.nonce) as locked:
        if locked is None:
            return None
        if brought.blocks:
            check_sight(locked.profile, brought.blocks)
        beside = attached_to(locked, replaces, command.drops) if replaces is not None else []
        if command.attachments:
            beside += take_attachments(locked, command.attachments)
        check_message(text, alone=not beside)
        if replaces is not None:
            set_message_aside(locked, replaces)
        question_seq = locked.last_seq + 1
        turn = open_turn(locked, command.nonce, question_seq=question_seq, zone=command.zone)
        blocks = [block for block, _tokens in beside]
        words = (condense.TextBlock(text),) if text.strip() else ()
        forgets = forgotten_passages.block_for(locked, text)
        around = forgets or _recall(locked, preferences, text)
        if surroundings:
            around = (environment_block(surroundings), *around)
        message = condense.Message("user", (*around, *words, *brought.blocks, *blocks))
        tokens = brought.tokens + sizes.COUNTER.count(around) + sum([more for _, more in beside])
        row = message_store.append_message(locked.pk, message, tokens=tokens, turn=turn)
        if forgets:
            forgotten_passages.forget(row)
        set_title_from(locked, message.words or names_of(blocks))
    # An edit takes the place of something: all is shown anew.
    question = message_store.to_engine(row) if replaces is None else None
    return read_run(conversation, turn=turn, question=question, preferences=preferences)


def _recall(
    conversation: Conversation, preferences: Preferences, words: str
) -> tuple[condense.TextBlock, ...]:
    """Return a block of hidden passages that fit a new message's words, or nothing.

    The conversation is locked, and no query is made if nothing in it is hidden. An error in the
    search adds no passages, and keeps no message from being sent.
    """
    if not conversation.has_hidden or conversation.auto_recall is False or not words.strip():
        return ()
    profile = conversation.answering
    if profile is None or not (conversation.auto_recall or preferences.auto_recall):
        return ()
    try:
        found = StoredRecall(conversation.pk)(words, condense.MOST_PASSAGES)
    except IndexDamaged:
        return ()
    limit = condense.token_limit(profile.context_window, preferences.recall_tokens)
    block = condense.recalled_block(found, counter=sizes.COUNTER, limit=limit)
    return (block,) if block else ()


@contextmanager
def locked_for_new_turn(
    conversation: Conversation, nonce: uuid.UUID
) -> Iterator[Conversation | None]:
    """Yield the locked conversation, or None if this nonce has a turn.

    Raises Busy while another turn is unfinished.
    """
    with transaction.atomic(savepoint=False):
        locked = message_store.lock_conversation(conversation.pk)
        locked.owner = conversation.owner
        # No turn begins without this lock.
        sql = (
            "SELECT nonce = %s, origin FROM chatapp_turn WHERE conversation_id = %s "
            "AND (nonce = %s OR finished_at IS NULL) ORDER BY 1"
        )
        turns = execute(sql, nonce, conversation.pk, nonce)
        if any(is_known for is_known, _origin in turns):
            yield None
        elif turns:
            text = _("The previous turn is still running. Stop it first, or wait.")
            if turns[0][1] == Turn.Origin.CONDENSED:
                text = _("The context is being condensed. Cancel that first, or wait.")
            raise Busy(text)
        else:
            yield locked


def open_turn(
    locked: Conversation,
    nonce: uuid.UUID,
    *,
    question_seq: int,
    origin: Turn.Origin = Turn.Origin.SENT,
    zone: str = "",
    profile_id: int | None = None,
) -> Turn:
    """Store a turn, owned by this process unless a worker is to claim it, and return it.

    The conversation's profile answers message ``question_seq``, unless another is given; its sender
    is in this time ``zone``. Refused at a spending limit, unless it condenses, which may need no
    model; and if its owner has too many turns.
    """
    if origin != Turn.Origin.CONDENSED:
        check_spending(locked.pk)
    check_turns(locked)
    turn = Turn(
        owner="" if settings.CLUSTER else this_process(),
        attempt=0 if settings.CLUSTER else 1,
        offered_at=now() if settings.CLUSTER else None,
        zone=zone,
        conversation=locked,
        nonce=nonce,
        origin=origin,
        question_seq=question_seq,
        at_seq=locked.last_seq,
        profile_id=profile_id or locked.profile_id,
    )
    return insert(turn)


def check_turns(conversation: Conversation) -> None:
    """Raise TooManyTurns if the owner's other unfinished turns are as many as allowed at once.

    None of these begins or ends before the commit.
    """
    if not ServerSettings.binds(conversation.owner):
        return
    lock(User, conversation.owner_id)
    ((others,),) = execute(
        "SELECT COUNT(*) FROM chatapp_turn t WHERE finished_at IS NULL AND conversation_id != %s "
        "AND %s = (SELECT owner_id FROM chatapp_conversation c WHERE c.id = t.conversation_id)",
        conversation.pk, conversation.owner_id,
    )  # fmt: skip
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


def finish_turn(
    *,
    turn: Turn,
    status: Turn.Status,
    error: str = "",
    details: str = "",
    profile_at_fault: bool = False,
    was_put_off: bool = True,
    is_done: bool = False,
    wish: CondenseRequest | None = None,
) -> bool:
    """Close a turn with its status, and with the error that the transcript shows.

    Its open records are closed with it. One that is over already, or was taken over by another
    process since, stays as it is, and False is returned. A condensation that ``was_put_off`` for
    this turn may begin by itself with the next one. With the end, a job is enqueued for the
    follow-up: the ``wish`` that the turn has not carried out, or the next message, which is sent
    after a turn that ``is_done``.
    """
    with transaction.atomic(savepoint=False):
        lock(Conversation, turn.conversation_id)
        if ServerSettings.binds(turn.conversation.owner):
            # What would wait for this end is in the queue by now, or begins after it.
            lock(User, turn.conversation.owner_id)
        if status != Turn.Status.SUCCEEDED:
            try:
                turn.hold()
            except TurnEnded:
                return False
            close_what_is_open(turn, error)
        if not turn.finish(status, error, details, profile_at_fault=profile_at_fault):
            return False
        if was_put_off:
            message_store.put_off(turn.conversation, False)
        if status != Turn.Status.SUCCEEDED or error:
            message_store.note_record(turn.conversation_id)
        _let_follow(turn, is_done=is_done, wish=wish)
        transaction.on_commit(partial(tallies.add, "turns", status))
        return True


def _let_follow(turn: Turn, *, is_done: bool, wish: CondenseRequest | None) -> None:
    ((waits, elsewhere, asked),) = execute(
        "SELECT EXISTS (SELECT 1 FROM chatapp_queuedmessage WHERE conversation_id = %s "
        "AND gone_at IS NULL AND (is_next OR %s)), EXISTS (SELECT 1 FROM chatapp_queuedmessage q "
        "WHERE gone_at IS NULL AND is_next AND %s = (SELECT owner_id FROM chatapp_conversation c "
        "WHERE c.id = q.conversation_id)), EXISTS (SELECT 1 FROM chatapp_turnrequest "
        "WHERE turn_id = %s AND kind = %s AND taken_at IS NULL)",
        turn.conversation_id, is_done, turn.conversation.owner_id, turn.pk,
        TurnRequest.Kind.CONDENSE,
    )  # fmt: skip
    if asked:
        last = turn.requests.filter(kind=TurnRequest.Kind.CONDENSE, taken_at=None).order_by("pk")
        if row := last.last():
            wish = CondenseRequest.from_json(row.nonce, row.details)
    if waits or elsewhere or wish:
        said = {"nonce": str(wish.nonce), "details": wish.to_json()} if wish else None
        background_jobs.enqueue("follow_turn", turn=str(turn.pk), is_done=is_done, wish=said)


def claim(turn_id: uuid.UUID, attempt: int) -> TurnContext | None:
    """Make a turn this process's, after so many attempts, and return its run.

    None if it is over or taken. One that can't go on is interrupted.
    """
    turn = Turn.objects.claim(turn_id, attempt)
    if turn is None:
        return None
    try:
        return read_run(turn.conversation, turn=turn, wish=read_request(turn))
    except Refused as reason:
        finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=str(reason))
    return None


def enqueue_turn(turn: Turn) -> None:
    """Have a worker run an unclaimed turn, after those of users with fewer turns."""
    from chatapp.background_jobs.queues import defer_turn  # noqa: PLC0415 - only with Procrastinate

    owner = turn.conversation.owner_id
    own = Turn.objects.unfinished().filter(conversation__owner=owner).count()
    defer_turn(str(turn.pk), turn.attempt, priority=-own)


def hand_over(
    turn: Turn,
    wish: CondenseRequest | None = None,
    *,
    enqueue: Callable[[Turn], None] = enqueue_turn,
) -> None:
    """Have another worker go on with a turn whose step is stored; one that waits does so alone.

    The ``wish`` that the turn did not come to goes along.
    """
    with suppress(TurnEnded), transaction.atomic():
        lock(Conversation, turn.conversation_id)
        turn.hand_over()
        _give_back(turn, wish)
        if not Turn.objects.asking().filter(pk=turn.pk).exists():
            enqueue(turn)


def release(turn: Turn, wish: CondenseRequest | None = None) -> bool:
    """Release a turn that waits for a person; return False if it goes on, or is lost.

    The ``wish``, a request that the turn has not carried out, is released with it.
    """
    with suppress(TurnEnded), transaction.atomic():
        if turn.release():
            _give_back(turn, wish)
            return True
    return False


def _give_back(turn: Turn, wish: CondenseRequest | None) -> None:
    """Mark a request as not taken, for the next process that claims the turn."""
    if wish:
        turn.requests.filter(nonce=wish.nonce).update(taken_at=None)


def stop_unclaimed(conversation_id: uuid.UUID, named: uuid.UUID | None) -> bool:
    """Stop the unclaimed turn of this id or nonce, or any; False if there is none."""
    found = Turn.objects.unfinished().filter(conversation=conversation_id, owner="")
    if named:
        found = found.filter(Q(pk=named) | Q(nonce=named))
    turn = found.first()
    # Where it is claimed meanwhile, it is not ended as one that is nobody's.
    return turn is not None and finish_turn(turn=turn, status=Turn.Status.STOPPED)
