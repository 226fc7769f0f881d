"""WebSocket addresses, whose pages may open them, and with whose session."""

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlparse

from channels.security.websocket import OriginValidator, WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.urls import path

from chatapp.consumers import ConversationConsumer, user_of
from chatapp.models.read_executor import reading

log = logging.getLogger(__name__)

websocket_urlpatterns = [
    # Django types a view by what it returns; Channels puts an application in its place.
    path("ws/c/<uuid:conversation_id>/", ConversationConsumer.as_asgi()),  # type: ignore[arg-type]
]


class OwnOrigin:
    """Lets in only pages of this server: same scheme, host and port, or a trusted origin.

    A browser sends its cookies along with a socket that any site's page opens.
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the connection on, or deny it."""
        application = self.application if self._is_own(scope) else WebsocketDenier()
        await application(scope, receive, send)

    def _is_own(self, scope: Any) -> bool:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        validator = OriginValidator(self.application, [*_own_origins(scope, headers)])
        try:
            own = validator.valid_origin(urlparse(headers.get(b"origin", b"").decode("latin1")))
        except ValueError:
            # A port that is no number, say, which no browser sends.
            own = False
        if not own:
            log.warning("a page of another origin was refused; is it in CSRF_TRUSTED_ORIGINS?")
        return own


class SessionUser:
    """Tells the application whose session a socket is opened with.

    Channels' own would ask in the thread of those who write, and wait for each of them.
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the connection on, with its user."""
        user = await reading(user_of)(scope["session"])
        await self.application({**scope, "user": user}, receive, send)


def _own_origins(scope: Any, headers: dict[bytes, bytes]) -> Iterator[str]:
    """Yield what a page of this server has as its origin."""
    host = headers.get(b"host", b"").decode("latin1")
    if validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        yield f"{_scheme(scope, headers)}://{host}"
    for origin in settings.CSRF_TRUSTED_ORIGINS:
        yield origin.replace("://*.", "://.")


def _scheme(scope: Any, headers: dict[bytes, bytes]) -> str:
    """Return "https" where the connection is secure, as Django finds out for a request."""
    if settings.SECURE_PROXY_SSL_HEADER:
        name, secure = settings.SECURE_PROXY_SSL_HEADER
        header = name.removeprefix("HTTP_").replace("_", "-").lower().encode()
        said = headers.get(header, b"").decode("latin1").partition(",")[0].strip()
        return "https" if said == secure else "http"
    return "https" if scope.get("scheme") in {"https", "wss"} else "http"
