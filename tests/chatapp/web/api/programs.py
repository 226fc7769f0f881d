"""Programs that ask the API: one sends messages, one does all that a token can allow."""

import json
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.contrib.auth.models import User
from django.db import connections
from django.test import AsyncClient, Client

from chatapp.accounts import credentials
from chatapp.models import Conversation
from tests.long_texts import filler

LONG = filler(3_750)
Told = tuple[str, dict[str, Any]]


def bearer(owner: User, scope: str = "write") -> dict[str, str]:
    """Return the header that lets a program of somebody's in."""
    token = credentials.create_api_token(owner=owner, name="script", scope=scope)
    return {"Authorization": f"Bearer {token}"}


class Sender:
    """A program of Alice's that sends messages to a conversation and hears the turns."""

    def __init__(self, conversation: Conversation) -> None:
        self.path = f"/api/conversations/{conversation.pk}/messages"
        self.headers = bearer(conversation.owner)

    async def post(self, body: str) -> Any:
        """Return the answer to whatever is sent."""
        return await AsyncClient().post(
            self.path, body, content_type="application/json", headers=self.headers
        )

    async def send(self, text: str, **more: Any) -> Any:
        """Return the answer to a message, unread."""
        return await self.post(json.dumps({"text": text, **more}))

    async def hear(self, text: str, **more: Any) -> list[Told]:
        """Return all that is told until the turn has ended."""
        answer = await self.send(text, **more)
        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/event-stream"
        return [told async for told in read(answer.streaming_content)]


async def read(stream: AsyncIterator[bytes]) -> AsyncIterator[Told]:
    """Yield the events of a stream; none is in two parts."""
    async for part in stream:
        if part.startswith(b":"):
            continue
        name, data = part.decode().removesuffix("\n\n").split("\n")
        yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def act(sender: Sender, path: str, method: str = "POST", **wanted: Any) -> Any:
    """Return the answer to what a program wants done in its conversation."""
    place = sender.path.removesuffix("messages") + path
    body = json.dumps(wanted)
    # As the server does: a request has a thread of its own.
    async with ThreadSensitiveContext():
        answer = await AsyncClient().generic(
            method, place, body, content_type="application/json", headers=sender.headers
        )
        await sync_to_async(connections.close_all)()
    assert answer.status_code < 300 or set(answer.json()) == {"detail"}, answer.text
    return answer


class Manager:
    """A program of Alice's that may do all that a token can allow."""

    def __init__(self, owner: User, scope: str = "all") -> None:
        self.client = Client(headers=bearer(owner, scope))

    def patch(self, path: str, **wanted: Any) -> Any:
        """Return the answer to a change."""
        return self.client.patch(f"/api/{path}", json.dumps(wanted), "application/json")
