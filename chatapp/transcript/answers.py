"""What came of the calls on a page, and how long each took."""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import condense
from chatapp.models import Message, ToolRun
from chatapp.transcript.cards import HiddenBy
from chatapp.transcript.parts import Answer, Answers, LiveTools

# By turn and call: when each run began, and how many seconds it took.
_Runs = Mapping[tuple[uuid.UUID | None, str], Sequence[tuple[datetime, float]]]


def find_answers(
    messages: Sequence[Message],
    said: Sequence[condense.Message],
    cleared: Mapping[tuple[int, str], HiddenBy],
    live: LiveTools,
) -> Answers:
    """Return what came of the calls of this page, whose messages are given as rows and as said.

    How long a call took that is ``live`` is known there.
    """
    pairs = condense.pair_calls(said).answered
    runs = _find_runs({messages[one.called_at].turn_id for one in pairs if one.call.id not in live})
    answers: dict[int, Answer] = {}
    for one in pairs:
        called, answered = messages[one.called_at], messages[one.answered_at]
        # The same id may come again in a later reply of the turn.
        took = [
            seconds
            for began, seconds in runs.get((called.turn_id, one.call.id), ())
            if called.created_at <= began <= answered.created_at
        ]
        reason = cleared.get((answered.pk, one.call.id))
        answers[id(one.call)] = Answer(one.result, reason, took[0] if took else None)
    return answers


def _find_runs(turns: set[uuid.UUID | None]) -> _Runs:
    if not turns:
        return {}
    found: defaultdict[tuple[uuid.UUID | None, str], list[tuple[datetime, float]]]
    found = defaultdict(list)
    for run in ToolRun.objects.filter(turn__in=turns - {None}).exclude(finished_at=None):
        if run.finished_at:
            seconds = (run.finished_at - run.started_at).total_seconds()
            found[run.turn_id, run.call_id].append((run.started_at, seconds))
    return found
