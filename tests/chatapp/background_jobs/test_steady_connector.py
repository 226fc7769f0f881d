"""What the log says of an outage of the database, in which workers try again and again."""

import asyncio
from typing import Any, override

import pytest
from psycopg.conninfo import conninfo_to_dict

from chatapp.background_jobs import steady_connector
from chatapp.background_jobs.steady_connector import SteadyConnector
from tests.cluster.services import Postgres

pytestmark = pytest.mark.postgresql("workers listen there")

QUEUES = ("one", "two", "three")


class Counted(SteadyConnector):
    """Tells of each time it listens, and of each try that failed."""

    def __init__(self, url: str) -> None:
        super().__init__(conninfo_to_dict(url))
        self.listens, self.failed = asyncio.Semaphore(0), asyncio.Semaphore(0)

    @override
    async def _loop_notify(self, *given: Any, **named: Any) -> None:
        self.listens.release()
        await super()._loop_notify(*given, **named)

    @override
    def _lose(self, *given: Any) -> None:
        super()._lose(*given)
        self.failed.release()


async def ignore(**_notification: str) -> None:
    """Do nothing about a new job."""


async def test_an_outage_is_logged_when_it_begins_and_when_it_is_over(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    """Once each, whatever the number of queues that a process listens for, and of their tries."""
    connector = Counted(postgres.url)
    await connector.open_async()
    async with asyncio.TaskGroup() as tasks:
        listening = [tasks.create_task(connector.listen_notify(ignore, [name])) for name in QUEUES]
        for _ in QUEUES:
            await connector.listens.acquire()
        await asyncio.to_thread(postgres.stop)
        for _ in range(3 * len(QUEUES)):
            await connector.failed.acquire()
        await asyncio.to_thread(postgres.start)
        for _ in QUEUES:
            await connector.listens.acquire()
        for one in listening:
            one.cancel()
    await connector.close_async()
    said = [one.getMessage() for one in caplog.records if one.name == steady_connector.__name__]
    begun, over = said
    assert begun.startswith("new jobs are not announced for now: ")
    assert over == "new jobs are announced again"
