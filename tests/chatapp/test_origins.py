"""Whose pages may open a socket: those of this server, by scheme, host and port."""

import pytest
from django.conf import LazySettings

from chatapp.models import Conversation
from chatapp.page.live import incoming_frames
from tests.chatapp.sockets import PATIENCE, socket_at

pytestmark = pytest.mark.django_db(transaction=True)

OWN = "http://localhost:8000"
FOREIGN = [
    "http://localhost:9000", "http://localhost", "https://localhost:8000", "http://127.0.0.1:8000",
    "http://localhost.evil.example:8000", "http://evil.example", "null", "", "http://", "localhost",
    "http://localhost:99999999", "http://localhost:x", "http://[", "\xff",
]  # fmt: skip


async def is_let_in(conversation: Conversation, origin: str | None, **headers: str) -> bool:
    """Whether a page of this origin gets as far as being asked to sign in."""
    sent = {"host": "localhost:8000", **({} if origin is None else {"origin": origin}), **headers}
    socket = socket_at(f"/ws/c/{conversation.pk}/", **sent)
    accepted, _ = await socket.connect(PATIENCE)
    if accepted:
        closed = await socket.receive_output(PATIENCE)
        assert closed["code"] == incoming_frames.SIGN_IN_REQUIRED
    return accepted


async def test_a_page_of_this_server_is_let_in(conversation: Conversation) -> None:
    """Whatever the host is called, as long as it is allowed."""
    assert await is_let_in(conversation, OWN)
    assert await is_let_in(conversation, "http://127.0.0.1", host="127.0.0.1:80")
    assert not await is_let_in(conversation, "http://evil.example", host="evil.example")


async def test_a_page_of_another_scheme_host_or_port_is_not(conversation: Conversation) -> None:
    """It could send and read with the cookies of whoever looks at it."""
    for origin in (*FOREIGN, None):
        assert not await is_let_in(conversation, origin), origin


async def test_trusted_origins_are_let_in(
    conversation: Conversation, settings: LazySettings
) -> None:
    """Those for which a proxy speaks, wildcards included."""
    settings.CSRF_TRUSTED_ORIGINS = ["https://chat.example.org", "https://*.example.net:8443"]
    assert await is_let_in(conversation, "https://chat.example.org")
    assert await is_let_in(conversation, "https://a.example.net:8443")
    assert not await is_let_in(conversation, "http://chat.example.org")
    assert not await is_let_in(conversation, "https://a.example.net")


async def test_behind_tls_the_page_is_a_secure_one(
    conversation: Conversation, settings: LazySettings
) -> None:
    """The proxy says so; without it nobody is believed."""
    secure = {"x_forwarded_proto": "https"}
    assert not await is_let_in(conversation, "https://localhost:8000", **secure)
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert await is_let_in(conversation, "https://localhost:8000", **secure)
    assert not await is_let_in(conversation, OWN, **secure)
