"""Guards calls to addresses that users choose: public servers, or those the operator allows."""

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from types import UnionType
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from condense import noop

NO_ADDRESS = noop("This is not the address of a server.")
NO_WEB_ADDRESS = noop("Use an address that begins with http:// or https://.")
WITH_USERINFO = noop(
    "Leave user name and password out of the address: a key has a field of its own."
)
WITH_QUERY = noop("Leave out “?” or “#” and all behind it: calls add a path to this address.")
PRIVATE = noop(
    "This address leads to this server itself or into its own network, "
    "which the operator has not allowed."
)

NOBODY = noop("Nothing answers at this address. Check the address, and that the server runs.")
NO_NAME = noop("There is no server of this name. Check the address.")
NOT_PROVEN = noop("Its certificate is not valid for this address, so it may be another server.")
NOT_NOW = noop("Its certificate is not valid at this time. It has to be renewed there.")
NOT_TRUSTED = noop(
    "Its certificate is from nobody that this server trusts. If it is your own, the operator can "
    "name its CA in SSL_CERT_FILE."
)
NO_TLS = noop("It does not speak TLS. Its address may begin with http:// instead.")
PROXIED = noop(
    "The proxy of this server did not let the call through, or did not reach the address. "
    "The operator names it in HTTPS_PROXY."
)
HOST_SILENT = noop("It does not answer in time.")
BROKE_OFF = noop("The connection broke off before there was an answer.")
# Reasons that may be gone at the next try.
PASSING = frozenset({NOBODY, NO_NAME, PROXIED, HOST_SILENT, BROKE_OFF})
# OpenSSL's numbers: not yet or no longer valid, and another host or address.
_CERTIFICATES = {9: NOT_NOW, 10: NOT_NOW, 62: NOT_PROVEN, 64: NOT_PROVEN}
# The first kind that fits counts.
_REASONS: tuple[tuple[type[BaseException] | UnionType, str], ...] = (
    (ssl.SSLError, NO_TLS),
    (socket.gaierror, NO_NAME),
    (TimeoutError | httpx2.TimeoutException, HOST_SILENT),
    (ConnectionResetError | BrokenPipeError, BROKE_OFF),
    (OSError | httpx2.ConnectError, NOBODY),
)

_PORTS = {"http": 80, "https": 443}
_UNCLEAN = re.compile(r"[\s\\\x00-\x1f\x7f]")
_USERINFO = re.compile(r"(?<=//)[^/?#]*@")
# IPv4 addresses as seen from a network that has only IPv6.
_TRANSLATED = IPv6Network("64:ff9b::/96")

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class AddressRefused(Exception):
    """An address may not be called; the text is a sentence for people."""


async def look_up(host: str, port: int) -> Sequence[str]:
    """Return the IP addresses of a host; raise OSError if there are none."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise AddressRefused(NO_ADDRESS) from error
    return [str(address[0]) for *_, address in found]


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules for an address that a user has chosen."""

    allow_private: bool = False
    resolve: Resolve = look_up

    def check(self, url: str) -> None:
        """Raise AddressRefused for an address that is refused without asking a name server."""
        host = _split(url).hostname or ""
        literal = _literal(host)
        public = (
            _is_public(literal) if literal else not f".{host.rstrip('.')}".endswith(".localhost")
        )
        if not (self.allow_private or public):
            raise AddressRefused(PRIVATE)

    def check_base(self, url: str) -> None:
        """Raise AddressRefused for an address that is refused, or takes no path."""
        self.check(url)
        if not {"?", "#"}.isdisjoint(url):
            raise AddressRefused(WITH_QUERY)

    async def addresses(self, url: str) -> tuple[str, ...] | None:
        """Return the IP addresses to connect to, all checked; None if any will do.

        Raises AddressRefused, or OSError when the name has no address.
        """
        self.check(url)
        if self.allow_private:
            return None
        parts = _split(url)
        found = await self.resolve(parts.hostname or "", parts.port or _PORTS[parts.scheme])
        if not found:
            raise OSError(f"{parts.hostname} has no address")
        if not all(_is_public(ip_address(one)) for one in found):
            raise AddressRefused(PRIVATE)
        return tuple(dict.fromkeys(found))

    async def transport(self, url: str) -> httpx2.AsyncBaseTransport:
        """Return a transport that is bound to the checked addresses; raises as ``addresses``."""
        addresses = await self.addresses(url)
        proxy = proxy_of(url, self)
        plain = httpx2.AsyncHTTPTransport(verify=tls(), proxy=proxy, trust_env=False)
        return plain if addresses is None else PinnedTransport(addresses, plain)


@cache
def tls() -> ssl.SSLContext:
    """Return the TLS context of all clients; loading it takes longer than a short call."""
    return httpx2.create_ssl_context()


def proxy_of(url: str, guard: Guard | None = None) -> str | None:
    """Return the environment's proxy for an address, None for this machine and guarded names."""
    # A proxy would look a guarded name up for itself. All clients ask here, as each library reads
    # the variables in its own way; ``NO_PROXY`` has names, addresses and networks.
    if guard and not guard.allow_private:
        return None
    parts, known = urlsplit(url), getproxies()
    literal = _literal(parts.hostname or "")
    direct = parts.hostname == "localhost" or bool(literal and literal.is_loopback)
    for one in known.get("no", "").split(","):
        with suppress(ValueError):
            direct |= bool(literal and literal in ip_network(one.strip(" []"), strict=False))
    proxy = known.get(parts.scheme) or known.get("all")
    if direct or not proxy or proxy_bypass(parts.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def without_userinfo(url: str) -> str:
    """Return the address as it may be shown, without user name and password."""
    return _USERINFO.sub("", url)


def host_of(url: str) -> str:
    """Return host and port as people know them."""
    try:
        return urlsplit(without_userinfo(url)).netloc or NO_ADDRESS
    except ValueError:
        return NO_ADDRESS


def _split(url: str) -> SplitResult:
    """Return the parts of a web address; raise AddressRefused for anything else."""
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0 and not _UNCLEAN.search(url)
    except ValueError as error:
        raise AddressRefused(NO_ADDRESS) from error
    if not usable:
        raise AddressRefused(NO_ADDRESS)
    if parts.scheme not in _PORTS:
        raise AddressRefused(NO_WEB_ADDRESS)
    if "@" in parts.netloc:
        raise AddressRefused(WITH_USERINFO)
    return parts


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    """Return an address that is written as a number, in any of the ways a resolver takes."""
    with suppress(ValueError):
        return ip_address(host)
    with suppress(OSError, ValueError):
        # Also 127.1, 0x7f000001 and 2130706433, as getaddrinfo reads them.
        return IPv4Address(socket.inet_aton(host))
    return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return True if anybody on the internet could call this address.

    An IPv4 address inside an IPv6 one is the one that counts.
    """
    if isinstance(address, IPv6Address):
        if address.is_site_local:
            # Deprecated (RFC 3879), so ``ipaddress`` calls it global; networks still route it.
            return False
        inner = address.ipv4_mapped or address.sixtofour
        if address in _TRANSLATED:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Sends each request to the first of ``addresses`` that answers; certificates stay the name's.

    A name could lead elsewhere when it is looked up a second time: it is not.
    """

    def __init__(self, addresses: Sequence[str], inner: httpx2.AsyncBaseTransport) -> None:
        self._addresses = addresses
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response of the first address that lets itself be connected to."""
        *others, last = self._addresses
        for address in others:
            with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._inner.handle_async_request(_pinned(request, address))
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


def why_unreached(error: BaseException, proxy: str | None = None) -> str:
    """Return the reason that a server could not be reached, as a sentence for people."""
    # The first cause counts: libraries name a connection that was refused in many ways.
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    known = filter(None, map(_reason, reversed(causes)))
    reason = next(known, BROKE_OFF)
    return PROXIED if proxy and reason in {NO_NAME, NOBODY, BROKE_OFF} else reason


def _reason(cause: BaseException) -> str | None:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _CERTIFICATES.get(cause.verify_code, NOT_TRUSTED)
    return next((said for kinds, said in _REASONS if isinstance(cause, kinds)), None)
