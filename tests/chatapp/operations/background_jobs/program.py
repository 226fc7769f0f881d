"""A process among several on one database: it enqueues jobs as it is told to, or works as well.

It reads a line of JSON for each thing that it is to do, and prints one for each that was done.
"""

import asyncio
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "chatapp.settings"
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - needs a set-up Django
from django.db import OperationalError, transaction  # noqa: E402 - the same
from procrastinate.contrib.django.models import (  # noqa: E402 - the same
    ProcrastinateJob,
    ProcrastinateWorker,
)

from chatapp.models import Conversation, ImportRun  # noqa: E402 - the same
from chatapp.operations import processes  # noqa: E402 - the same
from chatapp.operations.background_jobs import JOBS, enqueue, queues, workers  # noqa: E402 - the same
from chatapp.records import importers  # noqa: E402 - the same
from chatapp.records.transfer import Begin, Piece, import_jobs  # noqa: E402 - the same

# Short, so that a test hears soon of a worker that is gone.
INTERVAL = 0.3
processes.INTERVAL = processes.HURRY = 0.2
processes.SILENT_SECONDS = processes.WATCHED = 0.6
workers.NEW = timedelta(seconds=1)

go_on = asyncio.Event()


def tell(**what: Any) -> None:
    """Print what was done."""
    print(json.dumps(what), flush=True)


async def say(word: str) -> None:
    """Be done at once."""
    tell(said=word)


async def hold(word: str) -> None:
    """Be done when this process is told to go on."""
    tell(began=word)
    await go_on.wait()
    tell(said=word)


async def stumble(word: str) -> None:
    """Find the database away."""
    tell(began=word)
    raise OperationalError(word)


async def fail(word: str) -> None:
    """Fail of itself."""
    tell(began=word)
    raise RuntimeError(word)


async def turn(turn: str, attempt: int) -> None:
    """Run what a turn is to the worker."""
    tell(turn=turn, attempt=attempt)


async def import_files(run: str) -> None:
    """Import a file as far as its second conversation, and wait there for ever."""

    def read(form: str, path: Path) -> Iterator[Piece]:
        for piece in importers.read_file(form, path):
            yield piece
            if isinstance(piece, Begin) and piece.title == "second":
                tell(began=piece.title)
                threading.Event().wait()

    await import_jobs.run_import(run, read)


def obey(line: str) -> None:
    """Do one thing."""
    match json.loads(line):
        case {"enqueue": [*jobs], **how}:
            with transaction.atomic():
                for job in jobs:
                    enqueue(**job)
                transaction.set_rollback("rollback" in how)
            tell(enqueued=len(jobs))
        case {"turns": {**priorities}}:
            for name, priority in priorities.items():
                queues.defer_turn(name, 1, priority=priority)
            tell(enqueued=len(priorities))
        case {"send": [*chats]}:
            owner, _made = User.objects.get_or_create(username="alice")
            run = import_jobs.begin_import(owner=owner)
            (run.folder / "conversations.json").write_text(json.dumps(chats))
            import_jobs.start_import(run, form="chatgpt", name="conversations.json")
            tell(sent=str(run.folder))
        case "imports":
            shown = Conversation.objects.present().order_by("title")
            run = ImportRun.objects.get()
            tell(
                imports=[run.attempt, bool(run.finished_at), *shown.values_list("title", flat=True)]
            )
        case "count":
            jobs = ProcrastinateJob.objects.values_list("status", "attempts")
            tell(jobs=Counter(f"{status} {attempts}" for status, attempts in jobs))
        case "workers":
            tell(workers=[*ProcrastinateWorker.objects.values_list("pk", flat=True)])


def listen() -> None:
    """Do what is asked for, up to the end of what is said."""
    for line in sys.stdin:
        obey(line)


async def work(concurrency: int) -> None:
    """Work until nothing more is said."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def hear() -> None:
        """A worker is told but to go on; at the end of that it stops."""
        for _ in sys.stdin:
            loop.call_soon_threadsafe(go_on.set)
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=hear, daemon=True).start()
    with processes.joined("worker") as heartbeat:
        heartbeat.begin()
        await workers.work_queues(
            stop, turns=concurrency, background=concurrency, interval=INTERVAL
        )
    tell(ended=True)


if __name__ == "__main__":
    JOBS.update({name: f"__main__.{name}" for name in sys.argv[2:]})
    queues.RUN_TURN = "__main__.turn"
    # What does not end by itself is cut off at once.
    workers.STORING = 0
    concurrency = int(sys.argv[1])
    asyncio.run(work(concurrency)) if concurrency else listen()
