"""Crash recovery: what an ended process left is closed, and what waits for a person goes on.

Who is gone is judged by what this process itself has seen. No two clocks are compared: a sign of
life counts by being another one than the last.
"""

import time
import uuid
from collections.abc import Callable, Collection, Container
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from chatapp.condensation.draft_writer import close_attempt
from chatapp.context.condense_requests import read_request
from chatapp.context.turn_context import TurnContext, read_run
from chatapp.errors import Refused
from chatapp.models import BackgroundDraft, Condensation, Conversation, ModelCall, Turn, TurnRequest
from chatapp.models.database import clock, execute, is_shared, is_writable, locking
from chatapp.models.turns import TurnQuerySet, has_ended, is_left, this_process
from chatapp.telemetry import note_heartbeat
from chatapp.turns.lifecycle import enqueue_turn, finish_turn, hand_over
from chatapp.turns.turn_records import account_for, came_to_its_end
from condense import noop

# Seconds without another sign of life, after which a process is gone, wherever it was …
SILENCE = 6.0
# … which nobody is judged by for so long after a look that failed or came late …
GRACE = 2.5
# … as one does that comes so long after the one before: then others may have been kept waiting too.
LATE = 3.5

_Sign = tuple[uuid.UUID, int, datetime | None]


class Observer:
    """Looks at all unfinished turns every two seconds, and tells which are left.

    A look that fails, or comes late, is no evidence: the time until it counts for nobody. Nor is
    one while nobody could write a sign of life.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, has_queue: bool = False
    ) -> None:
        """Begin with nothing seen; where there ``has_queue``, turns without an owner are its."""
        self._clock = clock
        self._has_queue = has_queue
        # For how many seconds each sign of life has been the newest of its turn.
        self._silent: dict[_Sign, float] = {}
        self._looked: float | None = None
        self._judges_from = 0.0
        self._left: Collection[_Sign] = ()

    def look(self) -> list[uuid.UUID]:
        """Look at the turns, and return those whose process is gone."""
        before, self._looked = self._looked, None
        if not is_writable(Turn):
            self._left = ()
            return []
        turns = Turn.objects.unfinished()
        columns = turns.values_list("owner", "pk", "attempt", "heartbeat_at")
        seen = [(owner, (pk, attempt, heard)) for owner, pk, attempt, heard in columns]
        looked = self._clock()
        passed = looked - before if before is not None else LATE
        if passed >= LATE:
            passed, self._judges_from = 0.0, looked + GRACE
        silent = self._silent
        self._silent = {sign: silent.get(sign, -passed) + passed for _owner, sign in seen}
        may_judge = looked >= self._judges_from
        self._left = {
            sign for sign, seconds in self._silent.items() if may_judge and seconds >= SILENCE
        }
        self._looked = looked
        return [sign[0] for owner, sign in seen if self._is_gone(owner, sign)]

    def is_gone(self, turn: Turn) -> bool:
        """Whether a turn's process has ended, or was silent for too long when it was looked at."""
        return self._is_gone(turn.owner, (turn.pk, turn.attempt, turn.heartbeat_at))

    def _is_gone(self, owner: str, sign: _Sign) -> bool:
        if not owner:
            return not self._has_queue
        # What only one process can use is left by all others.
        if owner != this_process() and (not is_shared() or has_ended(owner)):
            return True
        return sign in self._left


def close_interrupted(
    observer: Observer,
    conversation: Conversation | None = None,
    *,
    running: Container[uuid.UUID] = (),
    started_before: datetime | None = None,
) -> set[uuid.UUID]:
    """End turns that nobody works on any more, and return their conversations.

    Those that are ``running`` here stay. Others of this process are ended too, since how they ended
    could not be saved: with a ``conversation``, those in it, at once.
    One that waits for a person goes on waiting, whatever became of its process: ``take_over``.
    """
    if conversation is None:
        turns = Turn.objects.worked_on().filter(pk__in=observer.look())
    else:
        turns = conversation.turns.worked_on()
    if started_before:
        turns = turns.filter(started_at__lt=started_before)
    closed = set()
    for turn in turns.select_related("profile"):
        # Asked once its row was read: what is on record by then is known here.
        if turn.pk in running:
            continue
        is_own = turn.owner == this_process()
        if not (observer.is_gone(turn) or (is_own and conversation)):
            continue
        reason = noop("The server stopped while this was running.")
        if is_own:
            reason = noop("The end of this turn could not be saved.")
        status = Turn.Status.INTERRUPTED
        if came_to_its_end(turn):
            status, reason = Turn.Status.SUCCEEDED, ""
        if finish_turn(turn=turn, status=status, error=reason):
            closed.add(turn.conversation_id)
    return closed


def take_over(observer: Observer, *, running: Container[uuid.UUID] = ()) -> list[TurnContext]:
    """Make turns this process's that wait for a person, and whose own is gone; return their runs.

    Those that are ``running`` here stay as they are. One that can't go on is interrupted.
    """
    runs = []
    for waiting in _left_waiting(observer):
        if waiting.pk in running:
            continue
        if run := claim(waiting.pk, waiting.attempt):
            runs.append(run)
    return runs


def claim(turn_id: uuid.UUID, attempt: int) -> TurnContext | None:
    """Make a turn this process's, after so many attempts, and return its run.

    None where it is over or taken. One that can't go on is interrupted.
    """
    turn = Turn.objects.claim(turn_id, attempt)
    if turn is None:
        return None
    try:
        return read_run(turn.conversation, turn=turn, wish=read_request(turn))
    except Refused as reason:
        finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=str(reason))
    return None


# Seconds after which a turn that no worker has taken is enqueued again: its job may be lost.
LOST_AFTER = 10.0


def enqueue_left(observer: Observer, *, enqueue: Callable[[Turn], None] = enqueue_turn) -> None:
    """Have workers run turns again that wait for a person, and whose worker is gone.

    So are those whose job was lost with the worker that had just fetched it.
    """
    for turn in _left_waiting(observer).exclude(owner=""):
        hand_over(turn, enqueue=enqueue)
    for turn in Turn.objects.unclaimed(LOST_AFTER).select_related("conversation"):
        with transaction.atomic():
            Turn.objects.locked(turn).offer(enqueue)


def _left_waiting(observer: Observer) -> TurnQuerySet:
    return Turn.objects.unfinished().filter(status=Turn.Status.WAITING, pk__in=observer.look())


def keep_alive(turns: Collection[Turn]) -> tuple[list[Turn], list[TurnRequest]]:
    """Note that this process works on turns; return those it lost, and what is asked of the rest.

    A lost one was ended or taken elsewhere.
    """
    if not turns:
        return [], []
    # One whose transaction takes long is not waited for, or all others would be silent with it.
    skipping = f"{locking()} SKIP LOCKED" if locking() else ""
    places, keys = ", ".join(["%s"] * len(turns)), [turn.pk for turn in turns]
    sql = (
        f"UPDATE chatapp_turn SET heartbeat_at = {clock()} WHERE id IN ("  # noqa: S608 - conditions of our own
        f"SELECT id FROM chatapp_turn WHERE id IN ({places}) AND owner = %s "
        f"AND finished_at IS NULL{skipping}) RETURNING id, attempt"
    )
    held = {(uuid.UUID(str(pk)), attempt) for pk, attempt in execute(sql, *keys, this_process())}
    note_heartbeat()
    if len(held) < len(turns):
        own = Turn.objects.unfinished().filter(pk__in=keys, owner=this_process())
        held = {*own.values_list("pk", "attempt")}
    lost = [turn for turn in turns if (turn.pk, turn.attempt) not in held]
    return lost, [*TurnRequest.objects.untaken(pk for pk, _attempt in held)]


def close_left() -> None:
    """Close what ended processes left beside their turns: calls for titles, trials, and drafts."""
    stopped = noop("The server stopped meanwhile.")
    # A draft that is written can be used by others, if its row is there.
    drafts = Condensation.objects.filter(turn=None, status__in=Condensation.OPEN)
    unusable = drafts.exclude(pk__in=BackgroundDraft.objects.written().values("condensation"))
    gone = {one.pk: one for one in unusable if is_left(one.owner, one.started_at)}
    running = ModelCall.objects.filter(status=ModelCall.Status.RUNNING)
    title = Q(purpose=ModelCall.Purpose.TITLE)
    beside = running.filter(title | Q(turn=None)).select_related("conversation", "condensation")
    for call in beside:
        if not is_left(call.owner, call.created_at):
            continue
        if call.condensation or call.purpose == ModelCall.Purpose.TITLE:
            account_for(call, error=stopped, draft="")
            if call.condensation and call.condensation.status == Condensation.Status.UNUSED:
                gone[call.condensation.pk] = call.condensation
        else:
            # What was only tried is part of no turn and no draft; nobody knows what it cost.
            tried = {"status": ModelCall.Status.INTERRUPTED, "cost": None, "error": stopped}
            ModelCall.objects.filter(pk=call.pk).update(**tried)
    for attempt in gone.values():
        close_attempt(attempt, stopped)
    for draft in BackgroundDraft.objects.unwritten():
        if is_left(draft.owner, draft.heartbeat_at):
            draft.delete()
