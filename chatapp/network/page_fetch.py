"""Fetches a page of the public web: each address on the way is checked, and connected to as it was.

Nothing of this server is reachable so: not by a redirect, and not by a name that leads elsewhere
when it is looked up again.
"""

import asyncio
from dataclasses import dataclass
from urllib.parse import urljoin

import httpx2

from chatapp.network.address_guard import Guard, PinnedTransport
from chatapp.network.network_errors import why_unreached

# Redirects that are followed, bytes that are read, and seconds for all of it.
MAX_REDIRECTS = 5
MAX_BYTES = 5 * 1024 * 1024
TIMEOUT = 30.0

_AGENT = "Palimpsest (a person's assistant; fetches one page at a time)"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class FetchFailed(Exception):
    """A page could not be fetched; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came: from where in the end, of which type, and whether it was cut at ``MAX_BYTES``."""

    url: str
    status: int
    type: str
    body: bytes
    cut: bool


async def fetch(url: str, guard: Guard) -> Fetched:
    """Return a page; raise AddressRefused, FetchFailed, or OSError where a name leads nowhere."""
    try:
        async with asyncio.timeout(TIMEOUT):
            return await _follow(url, guard)
    except TimeoutError as error:
        raise FetchFailed(f"The server took longer than {TIMEOUT:.0f} s.") from error
    except httpx2.HTTPError as error:
        raise FetchFailed(f"The server could not be reached. {why_unreached(error)}") from error


async def _follow(url: str, guard: Guard) -> Fetched:
    for _ in range(MAX_REDIRECTS + 1):
        fetched, next_url = await _fetch_one(url, guard)
        if fetched:
            return fetched
        url = urljoin(url, next_url)
    raise FetchFailed(f"The server redirects more than {MAX_REDIRECTS} times.")


async def _fetch_one(url: str, guard: Guard) -> tuple[Fetched | None, str]:
    """Return a page, or where it has moved."""
    addresses = await guard.addresses(url)
    transport: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport(trust_env=False)
    if addresses is not None:
        transport = PinnedTransport(addresses, transport)
    client = httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)
    headers = {"User-Agent": _AGENT, "Accept": "text/*, application/json, */*;q=0.1"}
    async with client, client.stream("GET", url, headers=headers) as response:
        location = response.headers.get("location", "")
        if response.status_code in _REDIRECTS and location:
            return None, location
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                break
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        cut = len(body) > MAX_BYTES
        return Fetched(url, response.status_code, kind, bytes(body[:MAX_BYTES]), cut), ""
