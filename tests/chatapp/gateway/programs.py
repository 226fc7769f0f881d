"""Programs that reach models through the gateway, and what they find there."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx2
import openai
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatapp.accounts import credentials
from chatapp.gateway import recording
from chatapp.gateway.application import gateway
from chatapp.models import ApiToken, Conversation, Profile, message_store

BASE = "http://testserver/gateway"


def token_of(owner: User, profile: Profile | None = None) -> str:
    """Return a token of the gateway, in clear."""
    token = credentials.create_api_token(owner=owner, name="agent", scope="gateway")
    ApiToken.objects.filter(digest=ApiToken.digest_of(token)).update(profile=profile)
    return token


def http_client() -> httpx2.AsyncClient:
    """Return a client whose requests the gateway answers in this process."""
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=gateway))  # type: ignore[arg-type]


def claude(token: str, **more: Any) -> anthropic.AsyncAnthropic:
    """Return Anthropic's SDK, pointed at the gateway."""
    return anthropic.AsyncAnthropic(
        api_key=token, base_url=BASE, http_client=http_client(), max_retries=0, **more
    )


def gpt(token: str) -> openai.AsyncOpenAI:
    """Return OpenAI's SDK, pointed at the gateway."""
    return openai.AsyncOpenAI(
        api_key=token, base_url=f"{BASE}/v1", http_client=http_client(), max_retries=0
    )


@dataclass
class Answer:
    """An answer as it comes, piece by piece."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    chunks: list[bytes] = field(default_factory=list)
    is_over: bool = False
    told: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def body(self) -> bytes:
        """All that has come."""
        return b"".join(self.chunks)

    def header(self, name: str) -> str:
        """Return a header, "" without it."""
        found = [value.decode() for key, value in self.headers if key.decode().lower() == name]
        return found[0] if found else ""

    async def wait_for(self, part: bytes) -> None:
        """Return once these bytes have come."""
        while part not in self.body:
            self.told.clear()
            await self.told.wait()


class Visit:
    """One request to the gateway, whose client may go away."""

    def __init__(
        self, path: str, token: str, body: bytes = b"", *, method: str = "POST", **headers: str
    ) -> None:
        given = {"x-api-key": token} if token else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        path, _, query = path.partition("?")
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": f"/gateway{path}",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": ("127.0.0.1", 1),
        }
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.incoming.put_nowait({"type": "http.request", "body": body})
        self.answer = Answer()
        self.task = asyncio.ensure_future(gateway(self.scope, self.incoming.get, self._send))

    async def _send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.answer.status, self.answer.headers = message["status"], [*message["headers"]]
        else:
            self.answer.chunks.append(message.get("body", b""))
            self.answer.is_over = not message.get("more_body")
        self.answer.told.set()

    def leave(self) -> None:
        """Close the client's end."""
        self.incoming.put_nowait({"type": "http.disconnect"})


async def visit(path: str, token: str, body: bytes = b"", **more: Any) -> Answer:
    """Return the whole answer to a request, once it is on record."""
    one = Visit(path, token, body, **more)
    await one.task
    await recording.settle()
    return one.answer


def said_in(conversation: Conversation) -> list[tuple[str, str]]:
    """Return what the model would see, by who said it."""
    seen = message_store.read_effective(conversation.pk)
    return [(one.role, one.text) for one in seen]


async def talks() -> list[list[tuple[str, str]]]:
    """Return what every conversation shows, the oldest first."""
    await recording.settle()

    def read() -> list[list[tuple[str, str]]]:
        return [said_in(one) for one in Conversation.objects.order_by("created_at")]

    return await sync_to_async(read)()


def body_of(**fields: Any) -> bytes:
    """Return JSON as programs write it."""
    return json.dumps(fields).encode()
