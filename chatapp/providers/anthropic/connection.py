"""How a call reaches the API: an HTTP client that follows no redirect and guards the address."""

import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import aiohttp
import anthropic
import httpx2

from chatapp.network.addresses import Guard, host_of
from chatapp.network.pinned import PinnedTransport
from chatapp.providers.anthropic.spec import SPEC

CONNECT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a call goes, with which key, and for how many seconds it may be silent.

    ``guard`` judges an address that a user has chosen; without it the operator has.
    """

    base_url: str
    key: str = field(repr=False)
    silence: float
    guard: Guard | None = None

    @property
    def host(self) -> str:
        """The address as people know it: host and port."""
        return host_of(self.base_url)

    async def open(self) -> anthropic.AsyncAnthropic:
        """Return a client for one call; raise AddressRefused, or OSError for an unknown host."""
        addresses = await self.guard.addresses(self.base_url) if self.guard else None
        return anthropic.AsyncAnthropic(
            api_key=self.key,
            base_url=self.base_url,
            max_retries=0,
            timeout=anthropic.Timeout(self.silence, connect=min(CONNECT_SECONDS, self.silence)),
            http_client=_http_client(addresses, guarded=self.guard is not None),
            # Other servers may still expect the key where API 2023-06-01 had it.
            default_headers=None if self.base_url == SPEC.url else {"x-api-key": self.key},
        )


class ClientTransport(httpx2.AsyncBaseTransport):
    """Sends through a client of the SDK, whose way over aiohttp is not to be had otherwise."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        """Take the client, which is closed with this."""
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response; a ConnectError means that nothing was sent."""
        try:
            return await self._client.send(request, stream=True)
        except httpx2.ConnectError as error:
            # aiohttp's errors of connections that broke later are told as if none had been made.
            if isinstance(error.__cause__, aiohttp.ClientConnectorError):
                raise
            raise httpx2.ReadError(str(error), request=request) from error.__cause__

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _http_client(addresses: Sequence[str] | None, *, guarded: bool) -> httpx2.AsyncClient:
    """Return a client that would rather fail than take key and prompt to another address."""
    options: dict[str, Any] = {"follow_redirects": False, "verify": tls()}
    if addresses is not None:
        # Nor to a proxy, which would look the name up for itself.
        inner = ClientTransport(anthropic.DefaultAioHttpClient(trust_env=False, **options))
        options["transport"] = PinnedTransport(addresses, inner)
    if guarded:
        options["event_hooks"] = {"request": [_drop_server_headers]}
    return anthropic.DefaultAioHttpClient(**options)


@cache
def tls() -> ssl.SSLContext:
    """Return what certificates are checked with; reading them takes longer than a short call."""
    return httpx2.create_ssl_context()


async def _drop_server_headers(request: httpx2.Request) -> None:
    """Take out what the SDK adds from the server's environment, for the operator's address only."""
    for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n"):
        name, _, value = (part.strip() for part in line.partition(":"))
        if name and request.headers.get(name) == value:
            del request.headers[name]
