"""The HTTP client below a vendor's SDK: it follows no redirect and keeps to checked addresses."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cache
from typing import Any

import aiohttp
import httpx2

from chatapp.agent import pace
from chatapp.network.pinned import PinnedTransport
from chatapp.providers.clients import KEPT_SECONDS

CONNECT_SECONDS = 15.0
# Any number of calls at once; what is no longer used is closed before a server does so.
LIMITS = httpx2.Limits(max_connections=0, keepalive_expiry=KEPT_SECONDS)
# A read that brings as many events has more waiting.
MANY = 50


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


def open_client(
    make: Callable[..., httpx2.AsyncClient],
    addresses: Sequence[str] | None,
    *,
    guarded: bool,
    environment: str,
) -> httpx2.AsyncClient:
    """Return a client that would rather fail than take key and prompt to another address.

    ``make`` is the SDK's own client over aiohttp. The headers that the variable ``environment``
    has an SDK add are for the operator's address: they are left out of ``guarded`` calls.
    """
    options: dict[str, Any] = {"follow_redirects": False, "verify": tls(), "limits": LIMITS}
    if addresses is not None:
        # Nor to a proxy, which would look the name up for itself.
        inner = ClientTransport(make(trust_env=False, **options))
        options["transport"] = PinnedTransport(addresses, inner)
    if guarded:
        options["event_hooks"] = {"request": [_without_headers_of(environment)]}
    return make(**options)


@cache
def tls() -> ssl.SSLContext:
    """Return what certificates are checked with; reading them takes longer than a short call."""
    return httpx2.create_ssl_context()


def _without_headers_of(environment: str) -> Callable[[httpx2.Request], Awaitable[None]]:
    async def drop(request: httpx2.Request) -> None:
        for line in os.environ.get(environment, "").split("\n"):
            name, _, value = (part.strip() for part in line.partition(":"))
            if name and request.headers.get(name) == value:
                del request.headers[name]

    return drop


async def paced(
    reads: AsyncIterator[list[object]], silence: float, is_over: Callable[[], bool]
) -> AsyncIterator[list[object]]:
    """Yield what a stream says, on the beat of all streams until it ``is_over``.

    Raises TimeoutError when nothing comes for ``silence`` seconds.
    """
    while True:
        async with asyncio.timeout(silence):
            said = await anext(reads, None)
        if said is None:
            return
        yield said
        if not is_over() and len(said) < MANY:
            # What comes meanwhile comes in one read, and costs as much as one event.
            await pace.tick()
