"""Connections go to the addresses that were checked."""

import httpx2
import pytest

from chatapp.network.address_guard import PinnedTransport
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]


class Network(httpx2.AsyncBaseTransport):
    """A network in which only some addresses answer."""

    def __init__(self, *up: str) -> None:
        self.up = up
        self.requests: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if request.url.host not in self.up:
            raise httpx2.ConnectError("nobody there")
        return httpx2.Response(200, text="here")


async def get(network: Network, *addresses: str) -> httpx2.Response:
    """Call a name that has these addresses."""
    async with httpx2.AsyncClient(transport=PinnedTransport(addresses, network)) as client:
        return await client.get("https://llm.example.org/v1")


async def test_a_call_goes_to_the_address_in_the_name_of_its_host() -> None:
    """The Host header and the name that the certificate must have stay the host's."""
    network = Network("8.8.8.8")
    assert (await get(network, "8.8.8.8")).text == "here"
    (sent,) = network.requests
    assert (sent.url.host, sent.headers["host"]) == ("8.8.8.8", "llm.example.org")
    assert sent.extensions["sni_hostname"] == "llm.example.org"


async def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    """As a browser does; the error of the last one counts."""
    network = Network("8.8.4.4")
    assert (await get(network, "2606:4700::1", "8.8.4.4", "8.8.8.8")).text == "here"
    assert [sent.url.host for sent in network.requests] == ["2606:4700::1", "8.8.4.4"]
    with pytest.raises(httpx2.ConnectError):
        await get(Network(), "8.8.8.8", "8.8.4.4")


async def test_a_real_connection_can_be_pinned(anthropic_standin: Standin) -> None:
    """The name itself is never looked up: it has no address."""
    url = f"http://llm.example.invalid:{anthropic_standin.port}/v1/messages"
    transport = PinnedTransport(["127.0.0.1"], httpx2.AsyncHTTPTransport())
    async with httpx2.AsyncClient(transport=transport) as client:
        answer = await client.post(url, json={})
    assert answer.status_code == 401
    host = f"llm.example.invalid:{anthropic_standin.port}"
    assert anthropic_standin.requests[0].headers["host"] == host
