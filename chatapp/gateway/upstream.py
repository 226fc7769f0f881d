"""Upstream: the server behind the gateway, its address, credential and headers."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from chatapp.gateway.dialects import Dialect, RefusedRequest
from chatapp.models import ApiToken, Profile
from chatapp.models.accounts import reached_by
from chatapp.project.network import Guard, proxy_of, tls
from chatapp.project.sentences import translate as _
from chatapp.providers import provider_spec
from chatapp.providers.http import CONNECT_SECONDS, KEPT_SECONDS, clients

Headers = Sequence[tuple[bytes, bytes]]

# Of one connection alone (RFC 9110), and of our own door.
HOP_BY_HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization",
    b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
})  # fmt: skip
_OWN = frozenset({
    b"host", b"content-length", b"cookie", b"expect", b"forwarded", b"x-forwarded-for",
    b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip", b"x-palimpsest-token",
    b"x-palimpsest-conversation",
})  # fmt: skip
CREDENTIALS = (b"authorization", b"x-api-key")
# Seconds without a byte: a local server says nothing while it reads a long prompt.
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=600.0)


@dataclass(frozen=True, slots=True)
class Upstream:
    """An address with its ``guard`` and ``credentials``, None if the client's are passed on."""

    profile: Profile | None
    base: str
    credentials: Headers | None
    guard: Guard | None

    def url(self, dialect: Dialect, path: str, query: bytes) -> URL:
        """Return the address of a path of ours; some bases have its beginning already."""
        whole = self.base.rstrip("/") + path.removeprefix(dialect.version)
        return URL(whole + (f"?{query.decode('latin1')}" if query else ""), encoded=True)

    def headers(self, given: Headers) -> list[tuple[str, str]]:
        """Return the headers to send: the client's but for those of its connection to us."""
        named = [value for name, value in given if name == b"connection"]
        dropped = HOP_BY_HOP | _OWN | {one.strip().lower() for one in b",".join(named).split(b",")}
        if self.credentials is not None:
            dropped |= {*CREDENTIALS}
        kept = [one for one in given if one[0] not in dropped]
        return [
            (name.decode(), value.decode(errors="replace"))
            for name, value in (*kept, *(self.credentials or ()))
        ]


def find_upstream(token: ApiToken, provider: str, model: str, *, own_key: bool) -> Upstream:
    """Return the upstream of a request, by its token or its model; an ``own_key`` is enough."""
    profile = token.profile
    if profile is None or profile.provider != provider:
        usable = token.owner.profiles.filter(provider=provider, model=model)
        profile = usable.select_related("owner", "origin__owner").first()
    if profile is None and own_key:
        return Upstream(None, provider_spec(provider).url, None, None)
    if profile is None:
        raise RefusedRequest(404, _("None of your profiles has the model “{model}”.", model=model))
    reached = reached_by(profile)
    key = reached["api_key"]
    if not (key or own_key) and profile.spec.asks_key(reached["base_url"]):
        raise RefusedRequest(403, _("The profile “{name}” has no key.", name=profile.name))
    base = reached["base_url"] or profile.spec.url
    credentials = None if own_key else _credentials(provider, key)
    return Upstream(profile, base, credentials, reached["guard"])


def _credentials(provider: str, key: str) -> Headers:
    if not key:
        return ()
    bearer = (b"Authorization", f"Bearer {key}".encode())
    # Servers that speak Anthropic's API take the one or the other.
    return (bearer, (b"x-api-key", key.encode())) if provider == "anthropic" else (bearer,)


def keys_in(headers: Sequence[tuple[str, str]]) -> list[str]:
    """Return the keys in a request's headers."""
    found = (value for name, value in headers if name.lower().encode() in CREDENTIALS)
    return [one.rpartition(" ")[2] for one in found]


class _Pinned(AbstractResolver):
    """Leads a name to the addresses that were checked for it."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: Any = None) -> list[ResolveResult]:
        """Return the addresses for any name."""
        del family
        told: Any = {"hostname": host, "port": port, "proto": 0, "flags": socket.AI_NUMERICHOST}
        families = {False: socket.AF_INET, True: socket.AF_INET6}
        return [told | {"host": one, "family": families[":" in one]} for one in self._addresses]

    async def close(self) -> None:
        """Keep nothing open."""


def _tracing() -> aiohttp.TraceConfig:
    """Return hooks that note in a request's context if its line had rested."""
    made = aiohttp.TraceConfig()

    async def note(_client: Any, context: Any, _told: Any) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx["reused"] = True

    made.on_connection_reuseconn.append(note)
    return made


@asynccontextmanager
async def sent(
    upstream: Upstream, url: URL, headers: Sequence[tuple[str, str]], body: bytes
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Yield the answer as it comes, neither decoded nor redirected; raise as FAILURES are."""
    addresses = await upstream.guard.addresses(str(url)) if upstream.guard else None

    def make() -> aiohttp.ClientSession:
        pinned: dict[str, Any] = {"ssl": tls()}
        pinned |= {"resolver": _Pinned(addresses)} if addresses else {}
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_SECONDS, **pinned),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            timeout=TIMEOUT,
            trace_configs=[_tracing()],
            proxy=proxy_of(str(url), upstream.guard),
        )

    known = await clients()
    async with known.use(("gateway", str(url.origin()), upstream.guard, addresses), make) as client:
        sending = partial(client.post, url, headers=headers, data=body, allow_redirects=False)
        reused: dict[str, bool] = {}
        try:
            answer = await sending(trace_request_ctx=reused)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # Servers close lines that rest, and say nothing of it.
            if not reused:
                raise
            answer = await sending()
        async with answer:
            yield answer


# The errors of a connection.
FAILURES = (aiohttp.ClientError, OSError, asyncio.TimeoutError)
