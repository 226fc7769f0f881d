"""The one entry for HTTP and WebSocket; any ASGI server can run it."""

import asyncio
import logging
import os
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlparse

import django
from asgiref.sync import sync_to_async
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import OriginValidator, WebsocketDenier
from channels.sessions import CookieMiddleware
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host
from django.http.response import HttpResponseBase
from django.urls import path

from chatapp.project.environment import BadEnvironment, stay_only_server_in

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")

django.setup(set_prefix=False)

from chatapp.gateway.application import ROOT, gateway  # noqa: E402 - the same
from chatapp.models.accounts import providers_in_use  # noqa: E402 - needs a set-up Django
from chatapp.models.database import reading, recovering  # noqa: E402 - the same
from chatapp.operations import key_rotation  # noqa: E402 - the same
from chatapp.operations.processes import joined  # noqa: E402 - the same
from chatapp.project.garbage import keep_collections_short  # noqa: E402 - needs a set-up Django
from chatapp.project.languages import choice_of  # noqa: E402 - needs a set-up Django
from chatapp.providers import load_sdks_when_idle  # noqa: E402 - the same
from chatapp.records.account_deletions import try_to_look_for_due  # noqa: E402 - the same
from chatapp.records.transfer.import_jobs import start_clearing  # noqa: E402 - the same
from chatapp.turns.running_turns import running_turns  # noqa: E402 - the same
from chatapp.web.consumers import ConversationConsumer, user_of  # noqa: E402 - needs a set-up Django

log = logging.getLogger(__name__)

# The log names the folder, which is no visitor's business.
SECOND = b"Another server is running with the data of this one. Its log says more."


class OneThreadHandler(ASGIHandler):
    """Django's handler, which takes a request from its first middleware to its view on one thread.

    All views are synchronous. Left to itself it changes threads for each middleware that could be
    otherwise, and if a visitor leaves just then, the end of the request can miss its thread.
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the answer in pieces, and yield to the event loop after each."""

        async def send_piece(piece: Any) -> None:
            await send(piece)
            if piece.get("more_body"):
                await asyncio.sleep(0)

        await super().__call__(scope, receive, send_piece)

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002 - Django asks for it
        """Build the chain of middlewares without a change of threads in it."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Answer on the request's thread."""
        return await sync_to_async(self.get_response)(request)


async def enter_only_server(application: Any, scope: Any, receive: Any, send: Any) -> None:
    """Pass a request on while this is the only server on DATA_DIR, or one of a cluster."""
    # It checks each request, because some ASGI servers send no lifespan events, as ``live`` needs.
    try:
        if not settings.CLUSTER:
            stay_only_server_in("DATA_DIR", settings.DATA_DIR)
    except BadEnvironment as problem:
        log.error("%s", problem)
        await refuse(scope, send)
    else:
        await application(scope, receive, send)


async def enter_by_path(scope: Any, receive: Any, send: Any) -> None:
    """Pass programs' requests to models on, past all that could hold up or change their bytes."""
    inside = f"{scope['path']}/".startswith(f"{ROOT}/")
    await (gateway if inside else pages)(scope, receive, send)


async def refuse(scope: Any, send: Any) -> None:
    """Answer a request, or close a socket before it opens."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close"})
        return
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": SECOND})


async def live(_scope: Any, receive: Any, send: Any) -> None:
    """Reserve DATA_DIR from this server's start to its end; then store its running turns."""
    # `manage.py serve` does so itself.
    await receive()
    try:
        with joined("web") as heartbeat:
            heartbeat.begin()
            running_turns.open()
            start_clearing()
            looking = asyncio.create_task(try_to_look_for_due())
            keep_collections_short()
            load_sdks_when_idle(await recovering(providers_in_use)())
            await recovering(key_rotation.warn_of_unreadable)()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            looking.cancel()
            await running_turns.close()
    except BadEnvironment as problem:
        await send({"type": "lifespan.startup.failed", "message": str(problem)})
    else:
        await send({"type": "lifespan.shutdown.complete"})


websocket_urlpatterns = [
    # Django types a view by its result; Channels puts an application in its place.
    path("ws/c/<uuid:conversation_id>/", ConversationConsumer.as_asgi()),  # type: ignore[arg-type]
]


async def enter_own_origin(application: Any, scope: Any, receive: Any, send: Any) -> None:
    """Pass on pages of this server alone: same scheme, host and port, or a trusted origin."""
    # A browser sends its cookies along with a socket that any site's page opens.
    headers: dict[bytes, bytes] = dict(scope["headers"])
    validator = OriginValidator(application, [*_own_origins(scope, headers)])
    try:
        own = validator.valid_origin(urlparse(headers.get(b"origin", b"").decode("latin1")))
    except ValueError:
        # A port that is no number, say, which no browser sends.
        own = False
    if not own:
        log.warning("a page of another origin was refused; is it in CSRF_TRUSTED_ORIGINS?")
        application = WebsocketDenier()
    await application(scope, receive, send)


async def enter_as_user(application: Any, scope: Any, receive: Any, send: Any) -> None:
    """Give the application the user of a socket's session, and their chosen language."""
    # Channels' own middleware would query in the thread of the writers, and wait for each of them;
    # it would also look with each frame whether the session changed.
    session = SessionStore(scope["cookies"].get(settings.SESSION_COOKIE_NAME))
    user = await reading(user_of)(session)
    known = {"session": session, "user": user, "language": choice_of(user, scope["cookies"])}
    await application({**scope, **known}, receive, send)


def _own_origins(scope: Any, headers: dict[bytes, bytes]) -> Iterator[str]:
    """Yield the origins that pages of this server may have."""
    host = headers.get(b"host", b"").decode("latin1")
    if validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        yield f"{_scheme(scope, headers)}://{host}"
    for origin in settings.CSRF_TRUSTED_ORIGINS:
        yield origin.replace("://*.", "://.")


def _scheme(scope: Any, headers: dict[bytes, bytes]) -> str:
    """Return "https" if the connection is secure by Django's rules for a request, else "http"."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        header = name.removeprefix("HTTP_").replace("_", "-").lower().encode()
        said = headers.get(header, b"").decode("latin1").partition(",")[0].strip()
        return "https" if said == secure else "http"
    return "https" if scope.get("scheme") in {"https", "wss"} else "http"


pages = OneThreadHandler()
_sockets = CookieMiddleware(partial(enter_as_user, URLRouter(websocket_urlpatterns)))  # type: ignore[arg-type] # as there
application = ProtocolTypeRouter(
    {
        "http": partial(enter_only_server, enter_by_path),
        "lifespan": live,
        "websocket": partial(enter_only_server, partial(enter_own_origin, _sockets)),
    }
)
