"""Background jobs: work that nobody waits for, which becomes due with the transaction it is of.

They run in this process, or where several share a database, in whichever worker is free. A job may
be run again that was run before: its worker may have ended just then.
"""

import json
from typing import Any

from django.conf import settings
from django.utils.asyncio import async_unsafe

from chatapp.background_jobs import in_process
from chatapp.background_jobs.registry import JOBS, UnknownJob


@async_unsafe("A job is enqueued beside what it belongs to: use sync_to_async.")
def enqueue(name: str, *, after: float = 0.0, key: str = "", **arguments: Any) -> None:
    """Have a job of ``JOBS`` run with these arguments, once the transaction is committed.

    It waits ``after`` seconds. While one of the same name and ``key`` waits, another is not added.
    """
    if name not in JOBS:
        raise UnknownJob(name)
    # What is no JSON is refused in both wirings, and arrives alike.
    arguments = json.loads(json.dumps(arguments))
    if settings.CLUSTER:
        from chatapp.background_jobs import queues  # noqa: PLC0415 - only with Procrastinate

        queues.defer(name, after=after, key=key, arguments=arguments)
    else:
        in_process.defer(name, after=after, key=key, arguments=arguments)


async def close(seconds: float | None = None) -> None:
    """Cancel jobs that wait in this process, and end those that run; workers end their own.

    They have so many ``seconds`` to end by themselves: ``SAFE_POINT``, unless it is given.
    """
    await in_process.close(settings.SAFE_POINT if seconds is None else seconds)
