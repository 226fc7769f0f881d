"""A browser's side of the conversation socket, for tests."""

import asyncio
import uuid
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.base import SessionBase
from django.test import Client

from chatapp.asgi import application, websocket_urlpatterns
from chatapp.models import Conversation

# Seconds: generous, as the machine may be busy; a test that waits this long has failed.
PATIENCE = 120

# What one page alone is told: before or after what all are told at that time.
PERSONAL = frozenset({"message.accepted", "refused", "noted", "pong"})


class Page:
    """One open page: what it sent, and every frame it got."""

    def __init__(self, communicator: WebsocketCommunicator) -> None:
        self.communicator = communicator
        self.frames: list[dict[str, Any]] = []
        self.nonce = ""
        self._unread: defaultdict[bool, deque[dict[str, Any]]] = defaultdict(deque)

    async def send(self, type_: str, **fields: Any) -> None:
        """Send one command, as a page does: with a new nonce, or the turn that it sees running."""
        if type_ == "condense.start":
            fields.setdefault("nonce", str(uuid.uuid4()))
        if type_ in {"turn.stop", "condense.cancel"}:
            fields.setdefault("turn", self.turn)
        self.nonce = fields.get("nonce", self.nonce)
        await self.communicator.send_json_to({"type": type_, **fields})

    @property
    def turn(self) -> str:
        """The id of the turn that runs, as far as the page was told, or the nonce that began it."""
        told = (frame["turn"] for frame in reversed(self.frames) if "turn" in frame)
        return next(told, "") or self.nonce

    async def say(self, text: str, *, nonce: str | None = None, **fields: Any) -> str:
        """Send a message and return its nonce."""
        nonce = nonce or str(uuid.uuid4())
        await self.send("message.send", text=text, nonce=nonce, **fields)
        return nonce

    async def ask(self, text: str, **fields: Any) -> dict[str, Any]:
        """Send a message, wait until nothing runs any more, and return the frame that says so."""
        await self.say(text, **fields)
        return await self.until_idle()

    async def begin(self, text: str, **fields: Any) -> str:
        """Send a message, wait for the first words of the answer, and return the nonce."""
        nonce = await self.say(text, **fields)
        await self.until("text.streamed")
        return nonce

    async def refusal(self, text: str, **fields: Any) -> str:
        """Send a message, and return why it is refused."""
        await self.say(text, **fields)
        return str((await self.until("refused"))["reason"])

    async def condense(self, **fields: Any) -> dict[str, Any]:
        """Condense, wait until nothing runs any more, and return the frame that says so."""
        await self.send("condense.start", **fields)
        return await self.until_idle()

    async def stop(self) -> None:
        """Stop what runs, and wait until nothing does."""
        await self.send("turn.stop")
        await self.until_idle()

    async def next(self) -> dict[str, Any]:
        """Return the next frame."""
        frame: dict[str, Any] = await self.communicator.receive_json_from(PATIENCE)
        self.frames.append(frame)
        self._unread[frame["type"] in PERSONAL].append(frame)
        return frame

    async def until(self, type_: str, **fields: Any) -> dict[str, Any]:
        """Return the next frame of a type with these fields.

        Whoever waits for what this page alone is told misses nothing of what all are told.
        """
        unread = self._unread[type_ in PERSONAL]
        async with asyncio.timeout(PATIENCE):
            while True:
                while not unread:
                    await self.next()
                frame = unread.popleft()
                if frame["type"] == type_ and fields.items() <= frame.items():
                    return frame

    async def until_idle(self) -> dict[str, Any]:
        """Return the frame that says that nothing runs any more, after the panel that follows."""
        idle = await self.until("status.changed", turn="")
        await self.until("panel.changed")
        return idle


def connect(
    conversation: Conversation,
    user: User | AnonymousUser,
    session: SessionBase | None = None,
    *,
    since: str = "",
) -> WebsocketCommunicator:
    """Return a socket that ``user`` opens to the conversation, perhaps once more."""
    communicator = WebsocketCommunicator(
        URLRouter(websocket_urlpatterns), f"/ws/c/{conversation.pk}/?since={since}"
    )
    communicator.scope["user"] = user
    if session is not None:
        communicator.scope["session"] = session
    return communicator


def socket_at(path: str, **headers: str) -> WebsocketCommunicator:
    """Return a socket that is opened with these headers."""
    raw: Any = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return WebsocketCommunicator(application, path, headers=raw)


def socket_of(browser: Client, path: str, *, accepts: str = "") -> WebsocketCommunicator:
    """Return the socket that a page in a browser opens."""
    cookie = "; ".join(f"{name}={one.value}" for name, one in browser.cookies.items())
    origin = "http://localhost"
    return socket_at(path, host="localhost", origin=origin, cookie=cookie, accept_language=accepts)


@asynccontextmanager
async def open_page(
    conversation: Conversation,
    user: User,
    session: SessionBase | None = None,
    *,
    language: str = "",
) -> AsyncIterator[Page]:
    """Open a page of the conversation, past its snapshot; close it in the end.

    Its reader may have chosen a ``language``.
    """
    communicator = connect(conversation, user, session)
    communicator.scope["language"] = language
    connected, _protocol = await communicator.connect(PATIENCE)
    assert connected
    page = Page(communicator)
    await page.until("snapshot")
    try:
        yield page
    finally:
        await communicator.disconnect(timeout=PATIENCE)
