"""Calls to an address that a user has chosen."""

from collections.abc import Sequence

import pytest

from chatapp.agent.errors import ProviderError
from chatapp.agent.provider_port import Model
from chatapp.network.address_guard import Guard
from chatapp.providers.anthropic.provider import AnthropicProvider
from tests.chatapp.providers.requests import listen, request
from tests.standin.server import Standin

MODEL = Model("claude-opus-5-5", 200_000, 1_000)
HEADERS = "X-Gateway: secret\nX-Api-Key: theirs\nno header\nX-Team: blue"


def provider(url: str, guard: Guard | None) -> AnthropicProvider:
    """Return a provider for an address."""
    return AnthropicProvider(MODEL, api_key="sk-own", base_url=url, guard=guard)


async def test_a_name_that_leads_into_the_network_is_not_called(
    anthropic_standin: Standin,
) -> None:
    """The sentence says why; nothing is sent, not even to count."""

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    rebound = provider(f"http://llm.example.org:{anthropic_standin.port}", Guard(resolve=resolve))
    with pytest.raises(ProviderError, match="operator has not allowed") as caught:
        await listen(rebound, request("Hi"))
    assert not caught.value.retryable
    assert await rebound.count_tokens(request("Hi")) is None
    assert anthropic_standin.requests == anthropic_standin.counts == []


async def test_a_name_that_is_unknown_is_an_address_that_cannot_be_reached() -> None:
    """Perhaps for the moment only."""

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        raise OSError("Name or service not known")

    unknown = provider("http://llm.example.org", Guard(resolve=resolve))
    with pytest.raises(ProviderError, match=r"reached at llm\.example\.org\. Check") as caught:
        await listen(unknown, request("Hi"))
    assert caught.value.retryable


async def test_the_servers_own_headers_go_to_the_servers_own_address_only(
    anthropic_standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK would send what its environment variable holds to every address."""
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", HEADERS)
    await listen(provider(anthropic_standin.url, None), request("Hi"))
    guarded = provider(anthropic_standin.url, Guard(allow_private=True))
    await listen(guarded, request("Hi"))
    await guarded.count_tokens(request("Hi"))
    servers, users = (one.headers for one in anthropic_standin.requests)
    assert (servers["x-gateway"], servers["x-team"]) == ("secret", "blue")
    for headers in (users, anthropic_standin.counts[0].headers):
        assert not {"x-gateway", "x-team"} & headers.keys()
        assert headers["x-api-key"] == "sk-own"
        assert "theirs" not in headers.values()
