"""A transport that connects to addresses that were checked, whatever their name means by then."""

from collections.abc import Sequence

import httpx2


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Sends each request to the first of ``addresses`` that answers; certificates stay the name's.

    A name could lead elsewhere when it is looked up a second time: it is not.
    """

    def __init__(self, addresses: Sequence[str], inner: httpx2.AsyncBaseTransport) -> None:
        """Take at least one IP address, and the transport that connects."""
        self._addresses = addresses
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response of the first address that lets itself be connected to."""
        *others, last = self._addresses
        for address in others:
            try:
                return await self._inner.handle_async_request(_pinned(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_pinned(request, last))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    """Return the request to an IP address; its Host header and the TLS name stay the host's."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
