"""The one entry for HTTP and WebSocket; any ASGI server can run it."""

import os
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

from chatapp.environment import BadEnvironment, only_server_in

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")

http = get_asgi_application()

from chatapp.live.rooms import hub  # noqa: E402 - models need a set-up Django
from chatapp.routing import OwnOrigin, websocket_urlpatterns  # noqa: E402 - likewise


async def live(_scope: Any, receive: Any, send: Any) -> None:
    """Keep DATA_DIR to this server from its start to its end, and store what runs by then.

    `manage.py serve` does so itself.
    """
    await receive()
    try:
        with only_server_in("DATA_DIR", settings.DATA_DIR):
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await hub.close()
    except BadEnvironment as problem:
        await send({"type": "lifespan.startup.failed", "message": str(problem)})
    else:
        await send({"type": "lifespan.shutdown.complete"})


application = ProtocolTypeRouter(
    {
        "http": http,
        "lifespan": live,
        "websocket": OwnOrigin(
            AuthMiddlewareStack(URLRouter(websocket_urlpatterns))  # type: ignore[arg-type] # as there
        ),
    }
)
