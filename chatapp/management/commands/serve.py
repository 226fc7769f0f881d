"""`manage.py serve`: from an empty folder to a signed-in browser with one command."""

import asyncio
import functools
import signal
import socket
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from channels.routing import get_default_application
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.urls import reverse
from django.utils.translation import gettext_noop
from twisted.internet import asyncioreactor, main, tcp
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost

from chatapp import checks
from chatapp.accounts import credentials
from chatapp.models import accounts
from chatapp.models.database import execute, is_shared
from chatapp.operations import key_rotation, processes
from chatapp.page.live import incoming_frames as protocol
from chatapp.project import static_files, terminal
from chatapp.project.environment import WILDCARD_HOSTS, database_problem, folder_problem, read_text
from chatapp.project.garbage import keep_collections_short
from chatapp.project.installation import IS_CHECKOUT
from chatapp.project.languages import background
from chatapp.project.sentences import translate as _
from chatapp.providers import load_sdks_when_idle
from chatapp.records.account_deletions import look_for_due
from chatapp.records.transfer.import_jobs import start_clearing
from chatapp.tools.shell import hide_environment
from chatapp.turns.running_turns import running_turns

# Daphne makes a loop as soon as it is imported: uvloop's has to be installed before.
if find_spec("uvloop") and "twisted.internet.reactor" not in sys.modules:
    import uvloop

    asyncioreactor.install(uvloop.new_event_loop())  # type: ignore[no-untyped-call]

from daphne.endpoints import build_endpoint_description_strings
from daphne.server import Server

from chatapp.management.request_bodies import BodyReader, LimitedRequest


class ClientConnection(tcp.Server):
    """A connection; uvloop reports its break once, even while bytes are left to be read."""

    def doRead(self) -> ConnectionLost | ConnectionDone | None:  # type: ignore[override] # noqa: N802 - twisted's name
        """Read the bytes that came; return the reason of an end behind them."""
        ended = super().doRead()
        broke = self.connected and self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        return ended or (main.CONNECTION_LOST if broke else None)


tcp.Port.transport = ClientConnection

# Prints a line at once, also into a pipe.
say = functools.partial(print, flush=True)


class QuietServer(Server):  # type: ignore[misc] # daphne carries no types
    """Daphne, which keeps the reason of a failure to listen instead of logging it."""

    listen_problem: str | None = None

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Have the application read a request from its place, and answer at its client's pace."""
        if scope["type"] == "http":
            protocol.registerProducer(protocol, streaming=True)
            BodyReader.take(protocol, scope)
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send a part of an answer, and wait until there is room for the next."""
        await super().handle_reply(protocol, message)
        if isinstance(protocol, LimitedRequest):
            await protocol.drained.wait()

    def listen_error(self, failure: Any) -> None:
        """Remember the reason and give up."""
        self.listen_problem = getattr(failure.value, "socketError", failure.value).strerror
        self.stop()

    def kill_all_applications(self) -> Deferred[Any]:
        """End the running turns first, so that they are stored and the pages informed."""
        loop = asyncio.get_running_loop()
        if running_turns.turns:
            signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(self.hurry))
            with terminal.speaking():
                said = gettext_noop(
                    "Stopping: what runs has {seconds} s to finish its step, or until Ctrl+C."
                )
                say(_(said, seconds=settings.SAFE_POINT))
        ended = Deferred.fromFuture(loop.create_task(running_turns.close()))
        return ended.addBoth(lambda _: Server.kill_all_applications(self))

    def hurry(self) -> None:
        """Stop the running turns at once: the operator wants to wait no longer."""
        with terminal.speaking():
            say(_("Stopping now: what was written so far is kept."))
        running_turns.stop_all()


class Command(BaseCommand):
    """Prepare the database, print the address to open, and serve."""

    help = "Prepares the database, prints the address to open, and serves until Ctrl+C."
    # `manage.py check` prints all problems; here one sentence on a problem that stops it is enough.
    requires_system_checks = ()
    heartbeat: processes.Heartbeat

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Serve until interrupted; everything that prevents it is a CommandError."""
        name = str(settings.DATABASES["default"]["NAME"])
        if problem := folder_problem("DATA_DIR", settings.DATA_DIR) or database_problem(name):
            raise CommandError(problem)
        checks.refuse_unfit()
        with processes.joined("web") as self.heartbeat:
            if not settings.DEBUG:
                with stage(gettext_noop("Prepared the pages: {seconds} s")):
                    static_files.collect()
            self.serve()

    def serve(self) -> None:
        """Listen until interrupted."""
        if settings.ALLOW_COMMANDS:
            hide_environment()
        # WhiteNoise streams small files in a way that Django only warns about.
        warnings.filterwarnings("ignore", "StreamingHttpResponse must consume synchronous")
        server: QuietServer = QuietServer(
            BodyReader(get_default_application()),
            endpoints=build_endpoint_description_strings(settings.HOST, settings.PORT),
            websocket_max_message_size=protocol.LARGEST_COMMAND,
            websocket_max_frame_size=protocol.LARGEST_COMMAND,
            # Called once the port is ours: a second start must not migrate under the first.
            ready_callable=lambda: self.prepare(server),
        )
        # Each request chooses a language of its own.
        with background():
            server.run()
        if not (server.listen_problem or is_shared()):
            # A copy of a stopped server's database may be of this file alone; on a full disk it
            # stays in two.
            with suppress(DatabaseError):
                execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if reason := server.listen_problem:
            said = gettext_noop(
                "Cannot listen on {host} port {port}: {reason}. Set HOST or PORT to another value."
            )
            raise CommandError(_(said, host=settings.HOST, port=settings.PORT, reason=reason))

    def prepare(self, server: Server) -> None:
        """Migrate the database, close interrupted turns, and print the owner's sign-in link."""
        if not settings.CLUSTER:
            migrate_if_needed()
        self.heartbeat.begin()
        # Turns that a crash left open are closed before anybody can come; the loop goes on then.
        loop = asyncio.get_event_loop()
        loop.run_until_complete(running_turns.clear_up())
        user = accounts.prepare_owner()
        token = credentials.create_sign_in_token(user=user)
        # Nothing begins where the database can't be used.
        loop.call_soon(running_turns.open)
        start_clearing()
        look_for_due()
        key_rotation.warn_of_unreadable()
        # The port the system gave, which PORT 0 leaves open.
        port = server.listening_addresses[0][1]
        link = reverse("sign_in_with_token", args=[token])
        # By now the addresses have loaded all pages.
        keep_collections_short()
        load_sdks_when_idle(accounts.providers_in_use())
        # The event loop asks nothing itself.
        connections.close_all()
        tell(gettext_noop("Open this link to sign in:"))
        say((settings.PUBLIC_URL or address(settings.HOST, port)) + link)
        if not (IS_CHECKOUT or read_text("DATA_DIR", "")):
            with terminal.speaking():
                folder = settings.DATA_DIR
                say(_("Everything is stored in {at}, unless DATA_DIR says otherwise.", at=folder))


def tell(said: str, **values: object) -> None:
    """Print a line for a person; a log keeps lines of its own form."""
    if sys.stderr.isatty():
        with terminal.speaking():
            say(_(said, **values), file=sys.stderr)


@contextmanager
def stage(said: str) -> Iterator[None]:
    """Print the name of a stage, and its seconds after it."""
    began = time.monotonic()
    yield
    tell(said, seconds=round(time.monotonic() - began))


def migrate_if_needed() -> None:
    """Apply the migrations that the database lacks, and cost next to nothing otherwise."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        with stage(gettext_noop("Prepared the database: {seconds} s")):
            call_command("migrate", verbosity=0, interactive=False)
    else:
        # A squashed migration is recorded where all that it replaces are.
        executor.check_replacements()


def address(host: str, port: int) -> str:
    """Return the server's address as a browser on this machine can open it."""
    host = WILDCARD_HOSTS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
