"""HTTP clients below the SDKs: no redirects, checked addresses only, and kept for the next call.

To look a name up, connect and agree on keys takes longer than all else before the first word.
"""

import asyncio
import os
import ssl
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
import httpx2

from chatapp.agent import tasks
from chatapp.network.address_guard import PinnedTransport

# Seconds for which a client is kept that nobody uses, and a line: no server known ends one sooner
# than after 5, and what it ends at the moment of a call makes that fail.
KEPT_SECONDS = 3.0
# So many that nobody uses are kept at most.
MOST_IDLE = 50
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
            await tasks.tick()


@dataclass(eq=False, slots=True)
class _Kept:
    """A client with a ``close``, how many calls use it, and what ends it where none does."""

    client: Any
    users: int = 0
    end: asyncio.TimerHandle | None = None


class Clients:
    """The clients of one event loop, by what they are made of."""

    def __init__(self, seconds: float = KEPT_SECONDS, most_idle: int = MOST_IDLE) -> None:
        """Keep each for some ``seconds`` after its last call, and so many of those at most."""
        self._seconds = seconds
        self._most_idle = most_idle
        self._kept: dict[Hashable, _Kept] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def use[C](self, made_of: Hashable, make: Callable[[], C]) -> AsyncIterator[C]:
        """Yield the client that is ``made_of`` the same, or a new one.

        One with which a call failed, or was given up, is used for no other call.
        """
        kept = self._kept.get(made_of) or self._kept.setdefault(made_of, _Kept(make()))
        kept.users += 1
        if kept.end:
            kept.end.cancel()
            kept.end = None
        try:
            yield kept.client
        except BaseException:
            self._drop(made_of, kept)
            raise
        finally:
            kept.users -= 1
            if not kept.users:
                await self._rest(made_of, kept)

    def _drop(self, made_of: Hashable, kept: _Kept) -> bool:
        """Give a client to nobody any more; return whether it was given until now."""
        known = self._kept.get(made_of) is kept
        if known:
            del self._kept[made_of]
        return known

    async def _rest(self, made_of: Hashable, kept: _Kept) -> None:
        """Keep a client for a moment that nobody uses, or close it where it was dropped."""
        if not self._drop(made_of, kept):
            await kept.client.close()
            return
        # Behind those that have not been used for longer.
        self._kept[made_of] = kept
        loop = asyncio.get_running_loop()
        kept.end = loop.call_later(self._seconds, self._end, made_of, kept)
        idle = [(of, one) for of, one in self._kept.items() if one.end]
        for oldest in idle[: -self._most_idle]:
            self._end(*oldest)

    def _end(self, made_of: Hashable, kept: _Kept) -> None:
        """Close a client that nobody uses."""
        if kept.end:
            kept.end.cancel()
        self._drop(made_of, kept)
        task = asyncio.get_running_loop().create_task(kept.client.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all that nobody uses; each other is closed after its last call."""
        for made_of, kept in [*self._kept.items()]:
            if kept.end:
                self._end(made_of, kept)
            self._drop(made_of, kept)
        await asyncio.gather(*self._closing)


_Life = AsyncGenerator[Clients]
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Clients, _Life]] = WeakKeyDictionary()


async def clients() -> Clients:
    """Return those of the event loop that runs, which closes them when it shuts down."""
    loop = asyncio.get_running_loop()
    if loop not in _of_loops:
        life = _life()
        _of_loops[loop] = await anext(life), life
    return _of_loops[loop][0]


async def _life() -> _Life:
    # A loop that shuts down closes the generators that it has begun.
    made = Clients()
    try:
        yield made
    finally:
        _of_loops.pop(asyncio.get_running_loop(), None)
        await made.close()


async def close_clients() -> None:
    """Close the clients of the event loop that runs, where it is not shut down in order."""
    if known := _of_loops.get(asyncio.get_running_loop()):
        await known[1].aclose()
