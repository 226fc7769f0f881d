"""The one entry for HTTP and WebSocket; any ASGI server can run it."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")

http = get_asgi_application()

from chatapp.routing import OwnOrigin, websocket_urlpatterns  # noqa: E402 - models need a set-up Django

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": OwnOrigin(
            AuthMiddlewareStack(URLRouter(websocket_urlpatterns))  # type: ignore[arg-type] # as there
        ),
    }
)
