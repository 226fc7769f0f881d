"""Abandoned jobs: those of workers that are gone are run again, a few times.

A worker is gone when its sign of life has been the same in several looks one after the other, which
all worked: neither another machine's clock nor an outage of the database speaks against it.
"""

import logging
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob, ProcrastinateWorker
from procrastinate.exceptions import UniqueViolation
from procrastinate.sql import queries

from chatapp.background_jobs.queues import MOST_ATTEMPTS
from chatapp.models import database

log = logging.getLogger(__name__)

# Looks at the same sign of life after which its worker is taken for gone.
LOOKS = 6


class AbandonedJobs:
    """What one process has seen of the signs of life of all workers."""

    def __init__(self) -> None:
        self._signs: dict[int, tuple[datetime, int]] = {}
        self._missing: set[int] = set()

    def forget(self) -> None:
        """Begin anew, as after an outage nobody had a sign of life to give."""
        self._signs.clear()
        self._missing.clear()

    def look(self, own: Collection[int], running: Collection[int]) -> None:
        """Look at all workers, and hand on what those have left that are gone.

        Of this process' ``own`` ones the jobs are known that are ``running``. Another one was
        handed out to a call that never heard of it, because its connection broke just then.
        """
        signs = {}
        for pk, sign in ProcrastinateWorker.objects.values_list("pk", "last_heartbeat"):
            before, looks = self._signs.get(pk, (sign, 0))
            signs[pk] = (sign, looks + 1 if before == sign else 1)
        self._signs = signs
        gone = [pk for pk, (_, looks) in signs.items() if looks >= LOOKS and pk not in own]
        doing = ProcrastinateJob.objects.filter(status="doing")
        unknown = doing.filter(worker__in=own).exclude(pk__in=running)
        missing = set(unknown.values_list("pk", flat=True))
        # One that was handed out since the look began is running at the next.
        lost, self._missing = missing & self._missing, missing
        self._hand_on(Q(pk__in=lost) | Q(worker__in=gone) | Q(worker=None), gone)

    def _hand_on(self, abandoned: Q, gone: Collection[int]) -> None:
        # What another process hands on just now is locked by it.
        with transaction.atomic():
            doing = ProcrastinateJob.objects.filter(abandoned, status="doing")
            for job in doing.select_for_update(skip_locked=True):
                again = job.attempts + 1 < MOST_ATTEMPTS and _run_again(job.pk)
                log.warning(
                    "the worker of job %s (%s) is gone: it is %s",
                    job.pk, job.task_name, "run again" if again else "given up",
                )  # fmt: skip
                if not again:
                    app.connector.execute_query(
                        queries["finish_job"], job_id=job.pk, status="failed", delete_job=False
                    )
            for pk in gone:
                app.connector.execute_query(queries["unregister_worker"], worker_id=pk)


def _run_again(pk: int) -> bool:
    """Have a job wait again, unless another one of its name and key waits already."""
    with suppress(UniqueViolation), transaction.atomic():
        app.job_manager.retry_job_by_id(pk, retry_at=database.now())
        return True
    return False
