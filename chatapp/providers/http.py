"""HTTP clients below the SDKs: no redirects, checked addresses only, and kept for the next call.

To look a name up, connect and agree on keys takes longer than all else before the first word.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
import httpx2

from chatapp.agent import async_tasks
from chatapp.project.network import PinnedTransport, tls
from chatapp.providers.request_bytes import MOST_BYTES

# Seconds for which a line is kept that nobody uses: no server known ends one sooner than after 5,
# and what it ends at the moment of a call makes that fail.
KEPT_SECONDS = 3.0
# Clients that nobody uses.
MOST_KEPT = 50
CONNECT_SECONDS = 15.0
# Seconds for what may come behind the end of a reply, from a server that leaves the line open.
REST_SECONDS = 30.0
# Any number of calls at once; what is no longer used is closed before a server does so.
LIMITS = httpx2.Limits(max_connections=0, keepalive_expiry=KEPT_SECONDS)
UNCONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
# A read that brings as many events has more waiting.
MANY = 50
# With its first reads a stream tells its beginning and the first word, for which somebody waits.
FIRST_READS = 3
# Bytes of what is no reply, and of an error, unpacked: a small packed body could be of any size.
LARGEST_ANSWER, LARGEST_ERROR = 16 << 20, 1 << 20
_PACKING = {"content-encoding", "content-length"}


class ClientTransport(httpx2.AsyncBaseTransport):
    """A transport over a client of the SDK, for its way over aiohttp.

    The client is closed with this.
    """

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response; an error of the connecting means that nothing was sent."""
        try:
            answer = await self._client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            # aiohttp's errors of connections that broke later are told as if none had been made.
            if isinstance(error.__cause__, UNCONNECTED):
                raise
            raise httpx2.ReadError(str(error), request=request) from error.__cause__
        kept = [one for one in answer.headers.multi_items() if one[0] not in _PACKING]
        return httpx2.Response(
            answer.status_code, headers=kept, stream=_Body(answer), extensions=answer.extensions
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


@dataclass(eq=False)
class _Body(httpx2.AsyncByteStream):
    """A body, unpacked; one that is too large raises ValueError, that of an error is cut off."""

    answer: httpx2.Response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        is_error, is_asked = self.answer.is_error, self.answer.request.method == "GET"
        left = LARGEST_ERROR if is_error else LARGEST_ANSWER if is_asked else MOST_BYTES
        async for chunk in self.answer.aiter_bytes():
            left -= len(chunk)
            if left < 0 and not is_error:
                raise ValueError("too large")
            yield chunk[:left] if left < 0 else chunk
            if left < 0:
                return

    async def aclose(self) -> None:
        await self.answer.aclose()


def open_client(
    make: Callable[..., httpx2.AsyncClient],
    addresses: Sequence[str] | None,
    *,
    guarded: bool,
    environment: str,
    proxy: str | None,
) -> httpx2.AsyncClient:
    """Return a client that would rather fail than take key and prompt to another address.

    ``make`` is the SDK's own client over aiohttp. The headers that the variable ``environment``
    has an SDK add are for the operator's address: they are left out of ``guarded`` calls.
    """
    options: dict[str, Any] = {"follow_redirects": False, "verify": tls(), "limits": LIMITS}
    options |= {"trust_env": False, "proxy": proxy}
    sending: httpx2.AsyncBaseTransport = ClientTransport(make(**options))
    if addresses is not None:
        sending = PinnedTransport(addresses, sending)
    options |= {"transport": sending, "proxy": None}

    async def drop_headers(request: httpx2.Request) -> None:
        for line in os.environ.get(environment, "").split("\n"):
            name, _, value = (part.strip() for part in line.partition(":"))
            if name and request.headers.get(name) == value:
                del request.headers[name]

    if guarded:
        options["event_hooks"] = {"request": [drop_headers]}
    return make(**options)


async def paced(
    reads: AsyncIterator[list[object]], seconds: float, is_over: Callable[[], bool]
) -> AsyncIterator[list[object]]:
    """Yield the events of a stream, on the beat of all streams until it ``is_over``.

    Raises TimeoutError after so many ``seconds`` without an event, or sooner if it is over.
    """
    async_tasks.STREAMS.add(reads)
    for number in count(1):
        async with asyncio.timeout(min(seconds, REST_SECONDS) if is_over() else seconds):
            said = await anext(reads, None)
        if said is None:
            return
        yield said
        if number >= FIRST_READS and not is_over() and len(said) < MANY:
            # All that comes meanwhile is one read, and costs as much as one event.
            await async_tasks.tick()


@dataclass(eq=False, slots=True)
class _SharedClient:
    """A client with a ``close``, and the number of calls that use it."""

    client: Any
    users: int = 0


class Clients:
    """The clients of one event loop by their parameters, the last used at the end."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: dict[Hashable, _SharedClient] = {}

    @asynccontextmanager
    async def use[C](self, made_of: Hashable, make: Callable[[], C]) -> AsyncIterator[C]:
        """Yield the client that is ``made_of`` the same, or a new one.

        One with which a call failed, or was given up, is used for no other call.
        """
        kept = self._kept.pop(made_of, None) or _SharedClient(make())
        self._kept[made_of] = kept
        kept.users += 1
        try:
            yield kept.client
        except BaseException:
            if self._kept.get(made_of) is kept:
                del self._kept[made_of]
            raise
        finally:
            kept.users -= 1
            idle = [of for of, one in self._kept.items() if not one.users]
            ended = [self._kept.pop(of) for of in idle[: -self._most]]
            if not kept.users and kept not in self._kept.values() and kept not in ended:
                ended.append(kept)
            for one in ended:
                await one.client.close()

    async def close(self) -> None:
        """Close all unused clients; each other one is closed after its last call."""
        kept, self._kept = self._kept, {}
        await asyncio.gather(*[one.client.close() for one in kept.values() if not one.users])


_Life = AsyncGenerator[Clients]
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Clients, _Life]] = WeakKeyDictionary()


async def clients() -> Clients:
    """Return the clients of the running event loop, which closes them when it shuts down."""
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
    """Close the clients of the running event loop, in case nothing shuts it down in order."""
    if known := _of_loops.get(asyncio.get_running_loop()):
        await known[1].aclose()
