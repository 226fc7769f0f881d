"""The one entry for HTTP and WebSocket; any ASGI server can run it."""

import logging
import os
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

from chatapp.environment import BadEnvironment, only_server_in, stay_only_server_in

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")

http = get_asgi_application()

from chatapp.live.rooms import hub  # noqa: E402 - models need a set-up Django
from chatapp.routing import OwnOrigin, websocket_urlpatterns  # noqa: E402 - likewise

log = logging.getLogger(__name__)

# The log names the folder, which is no visitor's business.
SECOND = b"Another server is running with the data of this one. Its log says more."


class OnlyServer:
    """Lets requests in while no other server works on DATA_DIR, whatever program runs this one.

    Not every one announces its start, as ``live`` below needs it.
    """

    def __init__(self, application: Any) -> None:
        """Guard an ASGI application."""
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, or answer that this is the second server."""
        try:
            stay_only_server_in("DATA_DIR", settings.DATA_DIR)
        except BadEnvironment as problem:
            log.error("%s", problem)
            await refuse(scope, send)
        else:
            await self.application(scope, receive, send)


async def refuse(scope: Any, send: Any) -> None:
    """Answer a request, or close a socket before it opens."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close"})
        return
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": SECOND})


async def live(_scope: Any, receive: Any, send: Any) -> None:
    """Keep DATA_DIR to this server from its start to its end, and store what runs by then.

    `manage.py serve` does so itself.
    """
    await receive()
    try:
        with only_server_in("DATA_DIR", settings.DATA_DIR):
            hub.open()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await hub.close()
    except BadEnvironment as problem:
        await send({"type": "lifespan.startup.failed", "message": str(problem)})
    else:
        await send({"type": "lifespan.shutdown.complete"})


application = ProtocolTypeRouter(
    {
        "http": OnlyServer(http),
        "lifespan": live,
        "websocket": OnlyServer(
            OwnOrigin(
                AuthMiddlewareStack(URLRouter(websocket_urlpatterns))  # type: ignore[arg-type] # as there
            )
        ),
    }
)
