"""`manage.py work`: a worker, which runs turns and background jobs of several processes."""

import asyncio
import signal
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.utils.module_loading import import_string

from chatapp import checks
from chatapp.models import accounts
from chatapp.operations import key_rotation, processes
from chatapp.project import terminal
from chatapp.project.garbage import keep_collections_short
from chatapp.project.installation import PROGRAM
from chatapp.project.languages import background
from chatapp.project.sentences import translate as _
from chatapp.providers import load_sdks
from chatapp.records.account_deletions import try_to_look_for_due
from chatapp.tools.shell import hide_environment
from chatapp.turns import monitoring
from chatapp.turns.running_turns import running_turns


class Command(BaseCommand):
    """Run turns and background jobs until interrupted."""

    help = "Runs turns and background jobs that web processes enqueue, until Ctrl+C."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the numbers of turns and jobs that one worker runs at once."""
        parser.add_argument("--turns", type=int, default=100, help=_("turns at once (100)"))
        parser.add_argument("--jobs", type=int, default=4, help=_("background jobs at once (4)"))

    def handle(self, *_args: Any, turns: int, jobs: int, **_options: Any) -> None:
        """Work until interrupted; everything that prevents it is a CommandError."""
        if not settings.CLUSTER:
            said = _(
                "A worker needs DATABASE_URL and REDIS_URL: without them, the server itself runs "
                "turns (`{program} serve`).",
                program=PROGRAM,
            )
            raise CommandError(said)
        checks.refuse_unfit()
        if settings.ALLOW_COMMANDS:
            hide_environment()
        load_sdks(accounts.providers_in_use())
        key_rotation.warn_of_unreadable()
        # This thread asks nothing more.
        connections.close_all()
        new_loop = import_string("uvloop.new_event_loop") if find_spec("uvloop") else None
        runner = asyncio.Runner(loop_factory=new_loop)
        keep_collections_short()
        with processes.joined("worker") as heartbeat, background(), runner:
            heartbeat.begin()
            runner.run(_work(turns, jobs))


async def _work(turns: int, jobs: int) -> None:
    from chatapp.operations.background_jobs.workers import work_queues  # noqa: PLC0415 - needs Procrastinate

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await running_turns.clear_up()
    looking = asyncio.create_task(try_to_look_for_due())
    working = asyncio.create_task(work_queues(stop, turns=turns, background=jobs))
    stopping = asyncio.create_task(stop.wait())
    with terminal.speaking():
        monitoring.serve()
        # At once, also into a pipe.
        print(_("Working."), flush=True)
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    looking.cancel()
    # Turns come to a safe point, and their jobs end with them.
    await running_turns.close()
    await working
