"""How a call reaches the API: an HTTP client that follows no redirect and guards the address."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import openai

from chatapp.network.addresses import Guard, host_of
from chatapp.providers.clients import clients
from chatapp.providers.http import CONNECT_SECONDS, open_client

# What the SDK would take from the server's environment where nothing is given.
_AMBIENT = ("OpenAI-Organization", "OpenAI-Project")


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

    @property
    def headers(self) -> dict[str, str | openai.Omit]:
        """What each request says besides its body: the SDK insists on a key, which it may lack."""
        kind: dict[str, str | openai.Omit] = {"content-type": "application/json"}
        return kind if self.key else {**kind, "Authorization": openai.Omit()}

    @asynccontextmanager
    async def client(self) -> AsyncIterator[openai.AsyncOpenAI]:
        """Yield a client for one call; raise AddressRefused, or OSError for an unknown host."""
        addresses = await self.guard.addresses(self.base_url) if self.guard else None
        known = await clients()
        async with known.use((self, addresses), lambda: self._make(addresses)) as client:
            yield client

    def _make(self, addresses: Sequence[str] | None) -> openai.AsyncOpenAI:
        guarded = self.guard is not None
        return openai.AsyncOpenAI(
            api_key=self.key or "none",
            admin_api_key="",
            base_url=self.base_url,
            max_retries=0,
            timeout=openai.Timeout(self.silence, connect=min(CONNECT_SECONDS, self.silence)),
            default_headers={name: openai.Omit() for name in _AMBIENT if guarded},  # type: ignore[misc]
            http_client=open_client(
                openai.DefaultAioHttpClient,
                addresses,
                guarded=guarded,
                environment="OPENAI_CUSTOM_HEADERS",
            ),
        )
