"""Background jobs: work that nobody waits for, due with the commit of the transaction it is from.

They run as tasks in this process, on its event loop or on one of their own. If several processes
share a database, they run in any free worker. A job may run twice: its worker may end between the
job and the note that it is done.
"""

import asyncio
import functools
import json
import logging
import threading
from collections.abc import Awaitable
from typing import Any

from asgiref.sync import SyncToAsync
from django.conf import settings
from django.db import transaction
from django.utils.asyncio import async_unsafe
from django.utils.module_loading import import_string

import condense
from chatapp.models import Turn
from chatapp.project import logs

log = logging.getLogger(__name__)

# Each is an ``async def``, imported when it first runs.
JOBS: dict[str, str] = {
    "check_draft": "chatapp.turns.follow_ups.check_draft",
    "condense_idle": "chatapp.turns.follow_ups.condense_idle",
    "delete_accounts": "chatapp.records.account_deletions.delete_accounts",
    "embed_messages": "chatapp.conversations.embedding.vectors.embed_messages",
    "fold_conversation": "chatapp.gateway.folds.fold_conversation",
    "follow_turn": "chatapp.turns.follow_ups.follow_turn",
    "import_files": "chatapp.records.importers.import_files",
    "name_conversation": "chatapp.turns.titles.name_after",
    "seal_audit": "chatapp.records.maintenance.audit_seals.seal_audit",
    "write_draft": "chatapp.turns.follow_ups.write_draft",
}

# Jobs that a person waits for: no other job comes before them.
PROMPT_JOBS = frozenset({"follow_turn"})

# Jobs that take minutes: a worker does one at a time, outside the places of other jobs.
LONG_JOBS = frozenset({"delete_accounts", "embed_messages", "import_files", "seal_audit"})

# Seconds that cancelled jobs have to end.
CANCELLING = 5


class UnknownJob(LookupError):
    """No job has this name: a newer process may have enqueued it."""


@async_unsafe("A job is enqueued beside what it belongs to: use sync_to_async.")
def enqueue(name: str, *, after: float = 0.0, key: str = "", **arguments: Any) -> None:
    """Have a job of ``JOBS`` run with these arguments, once the transaction is committed.

    It waits ``after`` seconds. While one of the same name and ``key`` waits, another is not added.
    """
    if name not in JOBS:
        raise UnknownJob(name)
    # Arguments that are no JSON are refused in both wirings, and all arrive alike.
    arguments = json.loads(json.dumps(arguments))
    if settings.CLUSTER:
        # By its name: it needs the extra "scale", and imports this module.
        defer = import_string("chatapp.operations.background_jobs.queues.defer")
        defer(name, after=after, key=key, arguments=arguments)
    else:
        transaction.on_commit(functools.partial(_begin, name, after, key, arguments))


def enqueue_turn(turn: Turn) -> None:
    """Have a worker run an unclaimed turn, after those of users with fewer turns."""
    # A server without workers takes it up itself when it starts.
    if settings.CLUSTER:
        owner, others = turn.conversation.owner_id, turn.conversation.others
        if others is None:
            others = Turn.objects.unfinished().filter(conversation__owner=owner).count() - 1
        defer_turn = import_string("chatapp.operations.background_jobs.queues.defer_turn")
        defer_turn(str(turn.pk), turn.attempt, priority=-1 - others)


async def run(name: str, arguments: dict[str, Any]) -> None:
    """Run a job to its end."""
    if name not in JOBS:
        raise UnknownJob(name)
    # Each job has a task of its own, so this holds until its end.
    logs.note(job=name, conversation=arguments.get("conversation"), turn=arguments.get("turn"))
    with condense.panics_as_errors():
        await import_string(JOBS[name])(**arguments)


# The tasks of jobs, and those among them that are not due yet.
_tasks: set[asyncio.Task[None]] = set()
_waiting: set[asyncio.Task[None]] = set()
# Names and keys of jobs that have not begun, each with the loop that it will run on.
_keys: dict[tuple[str, str], asyncio.AbstractEventLoop] = {}
_lock = threading.Lock()


async def close(seconds: float | None = None) -> None:
    """Cancel jobs that wait in this process, and end those that run; workers end their own.

    They have ``seconds`` to end by themselves, by default ``SAFE_POINT``.
    """
    patience = settings.SAFE_POINT if seconds is None else seconds
    ends: list[Awaitable[None]] = [_end(asyncio.get_running_loop(), patience)]
    if _own_loop.cache_info().currsize:
        own = _own_loop()
        ends.append(asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_end(own, patience), own)))
    await asyncio.gather(*ends)


async def _end(loop: asyncio.AbstractEventLoop, patience: float) -> None:
    """End the jobs of a loop that runs this."""
    for task in [one for one in _waiting if one.get_loop() is loop]:
        task.cancel()
    for seconds in (patience, CANCELLING):
        if tasks := {one for one in _tasks if one.get_loop() is loop}:
            await asyncio.wait(tasks, timeout=seconds)
        for task in [one for one in tasks if not one.done()]:
            task.cancel()


def _begin(name: str, after: float, key: str, arguments: dict[str, Any]) -> None:
    with _lock:
        loop = _loop()
        other = _keys.get((name, key))
        # A job whose loop has ended waits no more.
        if other and other.is_running():
            return
        if key:
            _keys[name, key] = loop
    start = functools.partial(_start, name, after, key, arguments)
    # A request's own context ends with it, and takes the threads for its queries along.
    loop.call_soon_threadsafe(start, context=logs.carried())


def _start(name: str, after: float, key: str, arguments: dict[str, Any]) -> None:
    task = asyncio.create_task(_run(name, after, key, arguments))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    if after > 0:
        _waiting.add(task)


async def _run(name: str, after: float, key: str, arguments: dict[str, Any]) -> None:
    try:
        if after > 0:
            await asyncio.sleep(after)
    finally:
        _waiting.difference_update({asyncio.current_task()})
        with _lock:
            _keys.pop((name, key), None)
    try:
        await run(name, arguments)
    except Exception:
        log.exception("the background job %s failed", name)


def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that this thread works for, or that of a thread for jobs."""
    loop = getattr(SyncToAsync.threadlocal, "main_event_loop", None)
    return loop if loop and loop.is_running() else _own_loop()


@functools.cache
def _own_loop() -> asyncio.AbstractEventLoop:
    loop, started = asyncio.new_event_loop(), threading.Event()
    loop.call_soon(started.set)
    threading.Thread(target=loop.run_forever, name="background jobs", daemon=True).start()
    started.wait()
    return loop
