"""Crash recovery: what an ended process left is closed, and what waits for a person goes on."""

import uuid
from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from chatapp.context.turn_context import TurnContext, read_run
from chatapp.errors import Refused
from chatapp.models import Condensation, Conversation, ModelCall, Turn
from chatapp.models.database import now
from chatapp.models.turns import is_left, this_process
from chatapp.telemetry import note_heartbeat
from chatapp.turns.lifecycle import finish_turn
from chatapp.turns.turn_records import account_for, came_to_its_end


def close_interrupted(
    conversation: Conversation | None = None, *, started_before: datetime | None = None
) -> set[uuid.UUID]:
    """End turns that nobody works on any more, and return their conversations.

    With a ``conversation``, those in it, also of this process: how they ended could not be saved.
    One that waits for a person goes on waiting, whatever became of its process: ``take_over``.
    """
    turns = Turn.objects.worked_on() if conversation is None else conversation.turns.worked_on()
    if started_before:
        turns = turns.filter(started_at__lt=started_before)
    closed = set()
    for turn in turns.select_related("profile"):
        if turn.owner != this_process():
            is_left, reason = turn.is_abandoned, _("The server stopped while this was running.")
        else:
            is_left, reason = bool(conversation), _("The end of this turn could not be saved.")
        if not is_left:
            continue
        if came_to_its_end(turn):
            finish_turn(turn=turn, status=Turn.Status.SUCCEEDED)
        else:
            finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=reason)
        closed.add(turn.conversation_id)
    return closed


@transaction.atomic
def take_over() -> list[TurnContext]:
    """Make turns this process's that wait for a person, and whose own is gone; return their runs.

    One that can't go on is interrupted.
    """
    waiting, runs = Turn.objects.unfinished().filter(status=Turn.Status.WAITING), []
    # What another process is just taking is its own.
    free = waiting.select_for_update(skip_locked=True, of=("self",), no_key=True)
    for turn in free.exclude(owner=this_process()).select_related("conversation"):
        if not turn.is_abandoned:
            continue
        turn.owner = this_process()
        here = {"owner": turn.owner, "heartbeat_at": now()}
        Turn.objects.filter(pk=turn.pk).update(**here)
        try:
            runs.append(read_run(turn.conversation, turn=turn))
        except Refused as reason:
            finish_turn(turn=turn, status=Turn.Status.INTERRUPTED, error=str(reason))
    return runs


def keep_alive(turns: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Note that this process works on turns; return those that were ended or taken elsewhere."""
    here = Turn.objects.unfinished().filter(pk__in=turns, owner=this_process())
    kept = here.update(heartbeat_at=Now())
    note_heartbeat()
    if kept == len(turns):
        return set()
    return set(turns) - set(here.values_list("pk", flat=True))


def close_left() -> None:
    """Close what ended processes left beside their turns: calls for titles, trials, and drafts."""
    stopped = _("The server stopped meanwhile.")
    # Nobody can use a draft any more.
    drafts = Condensation.objects.filter(turn=None, status__in=Condensation.OPEN)
    gone = [one for one in drafts if is_left(one.owner, one.started_at)]
    running = ModelCall.objects.filter(status=ModelCall.Status.RUNNING)
    title = Q(purpose=ModelCall.Purpose.TITLE)
    beside = running.filter(title | Q(turn=None)).select_related(
        "conversation__owner", "condensation", "turn__profile"
    )
    for call in beside:
        if not is_left(call.owner, call.created_at):
            continue
        if call.purpose == ModelCall.Purpose.TITLE:
            account_for(call, call.turn.profile if call.turn else None, error=stopped)
        elif call.condensation:
            named = call.conversation.owner.profiles.filter(name=call.profile_name)
            account_for(call, named.first(), error=stopped, draft="")
        else:
            # What was only tried is part of no turn and no draft; nobody knows what it cost.
            tried = {"status": ModelCall.Status.INTERRUPTED, "cost": None, "error": stopped}
            ModelCall.objects.filter(pk=call.pk).update(**tried)
    for attempt in gone:
        spent = ModelCall.objects.filter(condensation=attempt).spent()
        ended = {"finished_at": attempt.finished_at or timezone.now(), **spent}
        unused = Condensation.objects.filter(pk=attempt.pk)
        unused.change(status=Condensation.Status.UNUSED, error=stopped, **ended)
