"""Workers of Procrastinate's queues: they outlast the database, and their jobs outlast them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DatabaseError
from procrastinate import App
from procrastinate.contrib.django import app
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import JobContext
from procrastinate.worker import Worker

from chatapp.background_jobs.abandoned_jobs import AbandonedJobs
from chatapp.background_jobs.queues import BACKGROUND, LONG, TURNS
from chatapp.background_jobs.steady_connector import SteadyConnector

log = logging.getLogger(__name__)

# Seconds between two signs of life of a worker, and between two looks at those of all.
INTERVAL = 5.0
# Seconds that jobs have to be stored once they had to come to a safe point.
STORING = 25
# Seconds until a worker that stopped by itself is started again.
PAUSE = 1.0
# Seconds between two clearings, and hours for which a job is kept that did not succeed.
CLEARING, KEPT = 3_600.0, 24
# Seconds until what Procrastinate would do by itself: a week. Its signs of life end where an
# orderly stop begins, and it takes workers for gone that an outage has silenced.
NEVER = 604_800.0


async def work_queues(
    stop: asyncio.Event, *, turns: int, background: int, interval: float = INTERVAL
) -> None:
    """Run up to so many turns and background jobs at once, and a long job, until ``stop`` is set.

    What runs then has ``SAFE_POINT`` seconds and some more to end; after that it is cancelled, and
    another worker runs it again.
    """
    numbers = {TURNS: turns, BACKGROUND: background, LONG: min(background, 1)}
    # Jobs enqueue others through the first app, whose connection is Django's own.
    workers = _Workers(app.with_connector(SteadyConnector(connector_params())), interval)
    async with workers.app.open_async(), asyncio.TaskGroup() as tasks:
        work = [
            tasks.create_task(workers.work(queue, number, stop))
            for queue, number in numbers.items()
            if number
        ]
        besides = [workers.live(), workers.look(), workers.clear()]
        others = [tasks.create_task(one) for one in besides]
        await stop.wait()
        workers.stop()
        await asyncio.wait(work)
        for one in others:
            one.cancel()


class _Workers:
    """The workers of this process, by their queues, and the ids of the jobs that they run."""

    def __init__(self, steady: App, interval: float) -> None:
        self.app = steady
        self._interval = interval
        self._workers: dict[str, Worker] = {}
        self._running: set[int] = set()

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
                await asyncio.wait_for(stop.wait(), PAUSE)

    async def _note(
        self, process: Callable[[], Awaitable[Any]], context: JobContext, _worker: Worker
    ) -> Any:
        """Run a job, and know of it meanwhile."""
        self._running.add(job := context.job.id or 0)
        try:
            return await process()
        finally:
            self._running.discard(job)

    @property
    def _own(self) -> list[int]:
        return [one.worker_id for one in self._workers.values() if one.worker_id]

    async def live(self) -> None:
        """Give signs of life until it is cancelled."""
        while True:
            await asyncio.sleep(self._interval)
            for pk in self._own:
                with suppress(ConnectorException):
                    await self.app.job_manager.update_heartbeat(pk)

    async def look(self) -> None:
        """Look after jobs that were abandoned, until it is cancelled."""
        abandoned, is_logged = AbandonedJobs(), False
        while True:
            await asyncio.sleep(self._interval)
            try:
                await sync_to_async(abandoned.look)(self._own, {*self._running})
                is_logged = False
            except (ConnectorException, DatabaseError) as error:
                if not is_logged:
                    log.warning("abandoned jobs could not be looked for: %s", error.__cause__)
                is_logged = True
                abandoned.forget()

    async def clear(self) -> None:
        """Delete jobs that came to nothing long ago, until it is cancelled."""
        jobs = self.app.job_manager
        while True:
            with suppress(ConnectorException):
                await jobs.delete_old_jobs(
                    KEPT, include_failed=True, include_cancelled=True, include_aborted=True
                )
            await asyncio.sleep(CLEARING)
