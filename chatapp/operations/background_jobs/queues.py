"""Procrastinate's queues: jobs and turns that any worker on the same database takes.

Imported only if several processes share one. A job is a row, stored through Django's own connection
with all else that its transaction writes.
"""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any, override

from django.db import OperationalError, transaction
from django.utils.module_loading import import_string
from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.contrib.django import app
from procrastinate.exceptions import AlreadyEnqueued, JobAborted
from procrastinate.jobs import Job

from chatapp.models import database
from chatapp.operations.background_jobs import LONG_JOBS, PROMPT_JOBS, UnknownJob, run

BACKGROUND, LONG, TURNS = "background", "long", "turns"

# Runs a turn that is enqueued: an ``async def`` of its id, and of the attempt that it is.
RUN_TURN = "chatapp.turns.running_turns.run_claimed"

# The most times that a job is run whose workers end before it does.
MOST_ATTEMPTS = 3
# Tries of a job that only newer workers know, or for which the database was away, and the seconds
# between two of them.
MOST_LOOKS, PAUSE = 60, 10


class Interrupted(BaseRetryStrategy):
    """Retries jobs on another worker: those cut off by a stop, or unknown to this version.

    Jobs that failed because the database was away are retried, too.
    """

    @override
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, UnknownJob | OperationalError) and job.attempts < MOST_LOOKS:
            return RetryDecision(retry_in={"seconds": PAUSE})
        stopped = isinstance(exception, asyncio.CancelledError | JobAborted)
        return RetryDecision() if stopped and job.attempts < MOST_ATTEMPTS else None


@app.task(name="run_job", queue=BACKGROUND, retry=Interrupted())
async def run_job(name: str, arguments: dict[str, Any]) -> None:
    """Run a background job."""
    await run(name, arguments)


@app.task(name="run_turn", queue=TURNS, retry=Interrupted())
async def run_turn(turn: str, attempt: int) -> None:
    """Run a turn, unless that attempt was begun before: the turn's row says so."""
    await import_string(RUN_TURN)(turn, attempt)


def defer(name: str, *, after: float, key: str, arguments: dict[str, Any]) -> None:
    """Store a job, which is due ``after`` seconds by the database's clock."""
    due = database.now() + timedelta(seconds=after) if after > 0 else None
    queue = LONG if name in LONG_JOBS else BACKGROUND
    job = run_job.configure(
        queue=TURNS if name in PROMPT_JOBS else queue,
        queueing_lock=f"{name}:{key}" if key else None,
        lock=f"{name}:{key}" if key and name in LONG_JOBS else None,
        schedule_at=due,
    )
    # The transaction goes on where there is one already.
    with suppress(AlreadyEnqueued), transaction.atomic():
        job.defer(name=name, arguments=arguments)


def defer_turn(turn: str, attempt: int, *, priority: int) -> None:
    """Store a job that runs an attempt of a turn; those of higher priority come first.

    While it waits in the queue, it is not stored again.
    """
    job = run_turn.configure(priority=priority, queueing_lock=f"turn:{turn}:{attempt}")
    # None waits of one that was never made.
    with suppress(AlreadyEnqueued), transaction.atomic(savepoint=attempt > 0):
        job.defer(turn=turn, attempt=attempt)
