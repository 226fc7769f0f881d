"""How a call reaches the API: an HTTP client that follows no redirect and guards the address."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anthropic

from chatapp.network.addresses import Guard, host_of
from chatapp.providers.anthropic.spec import SPEC
from chatapp.providers.clients import clients
from chatapp.providers.http import CONNECT_SECONDS, open_client


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

    @asynccontextmanager
    async def client(self) -> AsyncIterator[anthropic.AsyncAnthropic]:
        """Yield a client for one call; raise AddressRefused, or OSError for an unknown host."""
        addresses = await self.guard.addresses(self.base_url) if self.guard else None
        known = await clients()
        async with known.use((self, addresses), lambda: self._make(addresses)) as client:
            yield client

    def _make(self, addresses: Sequence[str] | None) -> anthropic.AsyncAnthropic:
        return anthropic.AsyncAnthropic(
            api_key=self.key,
            base_url=self.base_url,
            max_retries=0,
            timeout=anthropic.Timeout(self.silence, connect=min(CONNECT_SECONDS, self.silence)),
            http_client=open_client(
                anthropic.DefaultAioHttpClient,
                addresses,
                guarded=self.guard is not None,
                environment="ANTHROPIC_CUSTOM_HEADERS",
            ),
            # Other servers may still expect the key where API 2023-06-01 had it.
            default_headers=None if self.base_url == SPEC.url else {"x-api-key": self.key},
        )
