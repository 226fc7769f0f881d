"""Crash recovery: turns of an ended process are closed, and waiting ones go on."""

import logging
import uuid
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from chatapp.condensing.draft_writer import close, close_attempt, written_here
from chatapp.conversations.context.turn_context import TurnContext
from chatapp.models import BackgroundDraft, Condensation, Conversation, ModelCall, Turn
from chatapp.models.processes import is_left, this_process
from chatapp.operations.background_jobs import enqueue_turn
from chatapp.turns.lifecycle import claim, finish_turn, hand_over
from chatapp.turns.turn_records import account_for, came_to_its_end, keep_passed_on
from condense import noop

log = logging.getLogger(__name__)

# Turns that are closed in one go, so that pages see the first ones soon.
CLOSED_AT_ONCE = 20


@dataclass
class Recovered:
    """Conversations with a closed turn, turns that go on here, and the number ``found``."""

    found: int = 0
    closed: set[uuid.UUID] = field(default_factory=set)
    taken: list[TurnContext] = field(default_factory=list)


def recover(
    most: int | None = CLOSED_AT_ONCE, *, enqueue: Callable[[Turn], None] = enqueue_turn
) -> Recovered:
    """Close turns of processes that are gone; those that wait for a person go on waiting.

    In a cluster a worker takes these once there is something to do. Rows that are locked are left
    for the next time.
    """
    done = Recovered()
    for turn in Turn.objects.left().select_related("profile")[:most]:
        done.found += 1
        try:
            with transaction.atomic():
                # The turn may be closed by now, or its process may have given a sign of life.
                free = Conversation.objects.select_for_update(skip_locked=True, no_key=True)
                if not (
                    free.filter(pk=turn.conversation_id).exists()
                    and Turn.objects.left().filter(pk=turn.pk).exists()
                ):
                    continue
                if not turn.waits:
                    if _close(turn, noop("The server stopped while this was running.")):
                        done.closed.add(turn.conversation_id)
                elif settings.CLUSTER:
                    hand_over(turn, enqueue=enqueue)
                elif run := claim(turn.pk, turn.attempt):
                    done.taken.append(run)
        except Exception:
            log.exception("a turn that was left could not be closed; that is tried again")
            break
    return done


def close_unsaved(
    running: Container[uuid.UUID], of: Conversation | None = None, before: datetime | None = None
) -> set[uuid.UUID]:
    """End turns of this process that do not run: their end could not be saved.

    Returns their conversations. Only those ``of`` one, or begun ``before`` a moment, if given.
    """
    turns = Turn.objects.unfinished().filter(owner=this_process())
    if of:
        turns = turns.filter(conversation=of)
    if before:
        turns = turns.filter(started_at__lt=before)
    # Asked after the rows were read: turns on record by then are known here.
    own = [turn for turn in turns.select_related("profile") if turn.pk not in running]
    reason = noop("The end of this turn could not be saved.")
    return {turn.conversation_id for turn in own if _close(turn, reason)}


def _close(turn: Turn, reason: str) -> bool:
    """End a turn by its stored messages; return False if it is over already."""
    if came_to_its_end(turn):
        return finish_turn(turn=turn, status=Turn.Status.SUCCEEDED)
    return finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=reason)


# Seconds after which a turn that no worker has taken is enqueued again: its job may be lost.
LOST_AFTER = 10.0


def enqueue_unclaimed(enqueue: Callable[[Turn], None] = enqueue_turn) -> None:
    """Enqueue turns again that lost their job with the worker that had just fetched it."""
    for turn in Turn.objects.unclaimed(LOST_AFTER).select_related("conversation"):
        with transaction.atomic():
            Turn.objects.locked(turn).offer(enqueue)


def close_left() -> None:
    """Close calls for titles, trials and drafts that were left, also own ones."""
    here, stopped = {*written_here}, noop("The server stopped meanwhile.")
    # A draft that is written can be used by others, if its row is there.
    drafts = Condensation.objects.filter(turn=None, status__in=Condensation.OPEN)
    unusable = drafts.exclude(background_draft__written_at__isnull=False)
    gone = {one.pk: one for one in unusable if is_left(one.owner)}
    running = ModelCall.objects.filter(status=ModelCall.Status.RUNNING)
    title = Q(purpose=ModelCall.Purpose.TITLE)
    beside = running.filter(title | Q(turn=None)).select_related(
        "conversation__client", "condensation"
    )
    for call in beside:
        if not is_left(call.owner):
            continue
        if call.condensation or call.purpose == ModelCall.Purpose.TITLE:
            account_for(call, error=stopped, draft="")
            if call.condensation and call.condensation.status == Condensation.Status.UNUSED:
                gone[call.condensation.pk] = call.condensation
        elif hasattr(call.conversation, "client"):
            keep_passed_on(call, stopped)
        else:
            # A test call is part of no turn and no draft; nobody knows its cost.
            tried = {"status": ModelCall.Status.INTERRUPTED, "cost": None, "error": stopped}
            ModelCall.objects.filter(pk=call.pk).update(**tried)
    for attempt in gone.values():
        close_attempt(attempt, stopped)
    for draft in BackgroundDraft.objects.filter(written_at=None):
        is_here = draft.condensation_id is None or draft.pk in here | written_here
        if is_left(draft.owner):
            draft.delete()
        elif draft.owner == this_process() and not is_here:
            with transaction.atomic():
                close(draft, stopped)
