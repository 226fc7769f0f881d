"""Connections go to the addresses that were checked, or people are told why they do not."""

import socket
import ssl

import httpx2
import pytest

from chatapp.project.network import (
    BROKE_OFF,
    NO_NAME,
    NOBODY,
    NOT_PROVEN,
    SILENT,
    PinnedTransport,
    why_unreached,
)


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
    """Host header and certificate stay the host's; the next address is tried as a browser does."""
    network = Network("8.8.8.8")
    assert (await get(network, "8.8.8.8")).text == "here"
    (sent,) = network.requests
    assert (sent.url.host, sent.headers["host"]) == ("8.8.8.8", "llm.example.org")
    assert sent.extensions["sni_hostname"] == "llm.example.org"
    network = Network("8.8.4.4")
    assert (await get(network, "2606:4700::1", "8.8.4.4", "8.8.8.8")).text == "here"
    assert [sent.url.host for sent in network.requests] == ["2606:4700::1", "8.8.4.4"]
    with pytest.raises(httpx2.ConnectError):
        await get(Network(), "8.8.8.8", "8.8.4.4")


def test_each_failure_is_a_sentence() -> None:
    """One that says where to look; the name of no class."""
    for error, cause, expected in (
        (httpx2.ConnectError("no"), OSError(111, "refused"), NOBODY),
        (httpx2.ConnectError("no"), socket.gaierror(-2, "unknown"), NO_NAME),
        (httpx2.ConnectError("no"), ssl.SSLCertVerificationError("expired"), NOT_PROVEN),
        (httpx2.ConnectTimeout("no"), None, SILENT),
        (httpx2.ReadTimeout("no"), None, SILENT),
        (httpx2.ReadError("no"), None, BROKE_OFF),
        (httpx2.RemoteProtocolError("no"), None, BROKE_OFF),
    ):
        error.__cause__ = cause
        assert why_unreached(error) == expected
