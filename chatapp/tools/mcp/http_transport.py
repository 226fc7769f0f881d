"""Servers that have an address: called where that was checked to lead, and read within limits."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from chatapp.network.address_guard import AddressRefused, Guard, PinnedTransport
from chatapp.tools.mcp.servers import MAX_ANSWER, MAX_MESSAGE, TOO_MUCH, Server, ServerFailed

# Seconds to be connected, and for an answer that says nothing; a call has a time of its own.
CONNECT, READ = 10.0, 1_800.0

_NO_ENTRY = frozenset({401, 403, 407})
_PLAIN = "identity"


class WebTransport:
    """The SDK's transport to an address; ``problem`` says what it had to refuse."""

    def __init__(self, server: Server, guard: Guard) -> None:
        """Call nothing yet."""
        self.problem = ""
        self.ended = asyncio.Event()
        self._server = server
        self._guard = guard
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Any:
        """Return the streams to and from the server; raise ServerFailed where it may not be."""
        client = httpx2.AsyncClient(
            transport=_Limited(await self._connecting(), self._refuse),
            headers=dict(self._server.secrets),
            timeout=httpx2.Timeout(CONNECT, read=READ),
            trust_env=False,
        )
        await self._open.enter_async_context(client)
        streams = streamable_http_client(
            self._server.address, http_client=client, max_sse_event_size=MAX_MESSAGE
        )
        return await self._open.enter_async_context(streams)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Say goodbye, and close the connections."""
        return await self._open.__aexit__(kind, error, trace)

    async def _connecting(self) -> httpx2.AsyncBaseTransport:
        try:
            addresses = await self._guard.addresses(self._server.address)
        except AddressRefused as error:
            raise ServerFailed(str(error)) from error
        except OSError as error:
            raise ServerFailed("There is no server of this name.") from error
        connecting = httpx2.AsyncHTTPTransport(trust_env=False)
        return connecting if addresses is None else PinnedTransport(addresses, connecting)

    def _refuse(self, problem: str) -> ServerFailed:
        self.problem = problem
        return ServerFailed(problem)


_Refuse = Callable[[str], ServerFailed]


class _Limited(httpx2.AsyncBaseTransport):
    """Passes answers on as they are, up to a size."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, refuse: _Refuse) -> None:
        self._inner = inner
        self._refuse = refuse

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # What is packed could be any size.
        request.headers["Accept-Encoding"] = _PLAIN
        response = await self._inner.handle_async_request(request)
        problem = ""
        if response.status_code in _NO_ENTRY:
            problem = f"It answers with HTTP {response.status_code}. Check the headers."
        elif response.headers.get("content-encoding", _PLAIN) != _PLAIN:
            problem = "It answers in an encoding that it was not asked for."
        if problem:
            await response.aclose()
            raise self._refuse(problem)
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - it is an answer
        # A stream is many messages, anything else one, which is read at once.
        kind = response.headers.get("content-type", "").lower()
        most = MAX_ANSWER if kind.startswith("text/event-stream") else MAX_MESSAGE
        response.stream = _Counted(response.stream, most, self._refuse)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    """A body up to the most that a server may send."""

    def __init__(self, inner: httpx2.AsyncByteStream, most: int, refuse: _Refuse) -> None:
        self._inner = inner
        self._most = most
        self._refuse = refuse

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > self._most:
                raise self._refuse(TOO_MUCH)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
