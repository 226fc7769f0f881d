"""Workers of Procrastinate's queues: they outlast the database, and their jobs outlast them."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any, override

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q
from procrastinate import App, PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.job_context import JobContext
from procrastinate.manager import get_channel_for_queues
from procrastinate.sql import queries
from procrastinate.worker import Worker
from psycopg import OperationalError
from psycopg.errors import ReadOnlySqlTransaction
from psycopg_pool import AsyncConnectionPool

from chatapp.models import database
from chatapp.operations import processes
from chatapp.operations.background_jobs.queues import BACKGROUND, LONG, MOST_ATTEMPTS, TURNS

log = logging.getLogger(__name__)

# Seconds between two looks for workers that are gone.
INTERVAL = 10.0
# The time for which only Procrastinate may know a worker.
NEW = timedelta(seconds=30)
# Seconds for which a call to the database is tried again by a worker that is to stop, and between
# two tries. Others try for as long as it takes: an error would have them take no more jobs until
# those that run are over.
OUTAGE, RETRY = 60.0, 0.5
# Seconds that jobs have to be stored once they had to come to a safe point.
STORING = 25
# Seconds until a worker that stopped by itself is started again.
RESTART_PAUSE = 1.0
# Seconds between two clearings, and hours for which a job is kept that did not succeed.
CLEARING, KEPT = 3_600.0, 24
# Seconds between two looks of a queue for jobs without a notice: due ones, or those to run again.
POLLING = 15.0
# Seconds until Procrastinate would act by itself: a week. Its signs of life end where an orderly
# stop begins, and it takes workers for gone that an outage has silenced.
NEVER = 604_800.0


async def work_queues(
    stop: asyncio.Event, *, turns: int, background: int, interval: float = INTERVAL
) -> None:
    """Run up to so many turns and background jobs at once, and a long job, until ``stop`` is set.

    Running work then has ``SAFE_POINT`` seconds and some more to end; after that it is cancelled,
    and another worker runs it again.
    """
    numbers = {TURNS: turns, BACKGROUND: background, LONG: min(background, 1)}
    # Jobs enqueue others through the first app, whose connection is Django's own.
    connector = SteadyConnector(stop)
    workers = _Workers(app.with_connector(connector), interval)
    async with workers.app.open_async(), asyncio.TaskGroup() as tasks:
        work = [
            tasks.create_task(workers.work(queue, number, stop))
            for queue, number in numbers.items()
            if number
        ]
        besides = [workers.look(), workers.clear(), connector.listen()]
        others = [tasks.create_task(one) for one in besides]
        await stop.wait()
        workers.stop()
        await asyncio.wait(work)
        for one in others:
            one.cancel()


class SteadyConnector(PsycopgConnector):
    """Procrastinate's connector, whose calls and LISTEN are tried again: errors stop a worker."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop
        self._heard: dict[str, Notify] = {}
        # Left alone, the pool would pause longer after each try: it gives up, and tries when asked.
        pool: dict[str, Any] = {"min_size": 1, "max_size": 1, "timeout": 5, "reconnect_timeout": 1}
        # It asks nothing before each call: one that fails is tried again anyway.
        pool["pool_factory"] = lambda **given: AsyncConnectionPool(**given | {"check": None})
        # Each statement is a transaction: a call is one, and needs no BEGIN and COMMIT more.
        pool["configure"] = lambda opened: opened.set_autocommit(True)
        super().__init__(kwargs=connector_params(), **pool)

    @override
    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        call = super().execute_query_async
        await self._steadily(lambda: call(query, **arguments))

    @override
    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        call = super().execute_query_one_async
        return await self._steadily(lambda: call(query, **arguments))

    @override
    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        call = super().execute_query_all_async
        return await self._steadily(lambda: call(query, **arguments))

    async def _steadily[T](self, call: Callable[[], Awaitable[T]]) -> T:
        last = time.monotonic() + OUTAGE
        while True:
            try:
                return await call()
            except ConnectorException as error:
                is_away = isinstance(error.__cause__, OperationalError | ReadOnlySqlTransaction)
                if not is_away or (self._stop.is_set() and time.monotonic() > last):
                    raise
            await asyncio.sleep(RETRY)

    @override
    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Pass on the notices for a queue that ``listen`` receives, until it is cancelled."""
        self._heard |= dict.fromkeys(channels, on_notification)
        await asyncio.Event().wait()

    async def listen(self) -> None:
        """Listen for all queues on one connection, until it is cancelled.

        That may break off: workers also look by themselves.
        """
        channels = get_channel_for_queues([TURNS, BACKGROUND, LONG])

        async def notify(*, channel: str, payload: str) -> None:
            if hears := self._heard.get(channel):
                await hears(channel=channel, payload=payload)

        while True:
            try:
                await super().listen_notify(notify, channels)
            except ConnectorException as error:
                # The process says itself that its database is away.
                log.debug("new jobs are not announced for now: %s", error.__cause__)
            await asyncio.sleep(RETRY)


# Workers that no process has any more, and jobs of none, or that don't run here.
_ABANDONED: Any = """
    SELECT NULL AS job, id AS worker FROM procrastinate_workers
    WHERE last_heartbeat < now() - %(new)s AND id != ALL(CAST(%(own)s AS bigint[])) AND NOT EXISTS
    (SELECT 1 FROM chatapp_process WHERE CAST(workers AS jsonb) @> to_jsonb(id))
    UNION ALL SELECT id, worker_id FROM procrastinate_jobs WHERE status = 'doing'
    AND (worker_id IS NULL OR worker_id = ANY(CAST(%(own)s AS bigint[]))
    AND id != ALL(CAST(%(running)s AS bigint[])))
"""


class AbandonedJobs:
    """Abandoned jobs: the process of their worker has no row any more, or runs another worker."""

    def __init__(self) -> None:
        self._missing: set[int] = set()

    async def look(self, there: App, own: Collection[int], running: Collection[int]) -> None:
        """Requeue the jobs of workers that are gone.

        Of this process' ``own`` ones the jobs are known that are ``running``. Any other was
        handed out to a call that never received it, because its connection broke just then.
        """
        found = await there.connector.execute_query_all_async(
            _ABANDONED, new=NEW, own=[*own], running=[*running]
        )
        gone = {one["worker"] for one in found if one["job"] is None}
        missing = {one["job"] for one in found if one["job"] and one["worker"]}
        # A job that was handed out since the look began is running at the next.
        lost, self._missing = missing & self._missing, missing
        if lost or len(found) > len(missing):
            abandoned = Q(pk__in=lost) | Q(worker__in=gone) | Q(worker=None)
            await database.recovering(self._hand_on)(abandoned, gone)

    def _hand_on(self, abandoned: Q, gone: Collection[int]) -> None:
        # Jobs that another process hands on just now are locked by it.
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
    """Requeue a job, unless another one of its name and key waits; return True if it was."""
    with suppress(UniqueViolation), transaction.atomic():
        app.job_manager.retry_job_by_id(pk, retry_at=database.now())
        return True
    return False


class _Workers:
    """The workers of this process, by their queues, and the ids of the jobs that they run."""

    def __init__(self, steady: App, interval: float) -> None:
        self.app = steady
        self._interval = interval
        self._workers: dict[str, Worker] = {}
        self._running: set[int] = set()
        processes.workers = self._ids

    def _ids(self) -> set[int]:
        return {one.worker_id for one in [*self._workers.values()] if one.worker_id}

    def stop(self) -> None:
        """Take no more jobs."""
        for worker in self._workers.values():
            worker.stop()  # type: ignore[no-untyped-call] # as Procrastinate has it

    async def work(self, queue: str, concurrency: int, stop: asyncio.Event) -> None:
        """Work on a queue with one worker after the other: an error stops each of them."""
        while not stop.is_set():
            self._workers[queue] = worker = Worker(
                self.app,
                [queue],
                name=queue,
                concurrency=concurrency,
                shutdown_graceful_timeout=settings.SAFE_POINT + STORING,
                delete_jobs="successful",
                install_signal_handlers=False,
                fetch_job_polling_interval=POLLING,
                update_heartbeat_interval=NEVER,
                stalled_worker_timeout=NEVER,
                worker_middleware=[self._note],
            )
            try:
                await worker.run()  # type: ignore[no-untyped-call] # as Procrastinate has it
            except Exception:
                log.exception("the worker of queue %s stopped", queue)
            if not stop.is_set():
                log.warning("the worker of queue %s is started again", queue)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), RESTART_PAUSE)

    async def _note(
        self, process: Callable[[], Awaitable[Any]], context: JobContext, _worker: Worker
    ) -> Any:
        """Run a job, and list it as running meanwhile."""
        self._running.add(job := context.job.id or 0)
        try:
            return await process()
        finally:
            self._running.discard(job)

    async def look(self) -> None:
        """Find and retry abandoned jobs from time to time, until it is cancelled."""
        abandoned = AbandonedJobs()
        while True:
            await asyncio.sleep(self._interval)
            try:
                await abandoned.look(self.app, self._ids(), {*self._running})
            except (ConnectorException, DatabaseError) as error:
                log.warning("abandoned jobs could not be looked for: %s", error)

    async def clear(self) -> None:
        """Delete old finished, failed, cancelled and aborted jobs, until it is cancelled."""
        jobs = self.app.job_manager
        while True:
            with suppress(ConnectorException):
                await jobs.delete_old_jobs(
                    KEPT, include_failed=True, include_cancelled=True, include_aborted=True
                )
            await asyncio.sleep(CLEARING)
