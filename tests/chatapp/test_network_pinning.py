"""Connections go to the addresses that were checked, or people are told why they do not."""

import socket
import ssl

import httpx2
import pytest

from chatapp.project.network import (
    BROKE_OFF,
    HOST_SILENT,
    NO_NAME,
    NO_TLS,
    NOBODY,
    NOT_NOW,
    NOT_PROVEN,
    NOT_TRUSTED,
    PROXIED,
    Guard,
    PinnedTransport,
    proxy_of,
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


def unproven(code: int) -> ssl.SSLError:
    """Return OpenSSL's error for a certificate that it does not accept."""
    error = ssl.SSLCertVerificationError("no")
    error.verify_code = code
    return error


def test_each_failure_is_a_sentence() -> None:
    """One that says where to look; the name of no class."""
    for error, cause, expected in (
        (httpx2.ConnectError("no"), OSError(111, "refused"), NOBODY),
        (httpx2.ConnectTimeout("no"), OSError(111, "refused"), NOBODY),
        (httpx2.ConnectError("no"), socket.gaierror(-2, "unknown"), NO_NAME),
        (httpx2.ConnectError("no"), unproven(62), NOT_PROVEN),
        (httpx2.ConnectError("no"), unproven(64), NOT_PROVEN),
        (httpx2.ConnectError("no"), unproven(10), NOT_NOW),
        (httpx2.ConnectError("no"), unproven(18), NOT_TRUSTED),
        (httpx2.ConnectError("no"), ssl.SSLError("wrong version number"), NO_TLS),
        (httpx2.ConnectTimeout("no"), None, HOST_SILENT),
        (httpx2.ReadTimeout("no"), None, HOST_SILENT),
        (httpx2.ReadError("no"), None, BROKE_OFF),
        (httpx2.ReadError("no"), ConnectionResetError(104, "reset"), BROKE_OFF),
        (httpx2.RemoteProtocolError("no"), None, BROKE_OFF),
    ):
        error.__cause__ = cause
        assert why_unreached(error) == expected
        of_the_proxy = expected in {NOBODY, NO_NAME, BROKE_OFF}
        proxied = why_unreached(error, "http://proxy.example")
        assert proxied == (PROXIED if of_the_proxy else expected)


def test_all_calls_read_the_proxies_of_the_environment_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This machine is reached without one; networks and ports may be left out, too."""
    monkeypatch.setenv("HTTPS_PROXY", "http://secure.example:1")
    monkeypatch.setenv("all_proxy", "other.example:2")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8, [2001:db8::1], .inner.example, one.example:8443")
    for url, expected in (
        ("https://llm.example/v1", "http://secure.example:1"),
        ("http://llm.example/v1", "http://other.example:2"),
        ("http://localhost:11434", None),
        ("http://127.0.0.2:11434", None),
        ("http://[::1]:11434", None),
        ("http://10.1.2.3", None),
        ("http://11.1.2.3", "http://other.example:2"),
        ("https://[2001:db8::1]:9000", None),
        ("https://llm.inner.example", None),
        ("https://one.example:8443/v1", None),
        ("https://one.example/v1", "http://secure.example:1"),
    ):
        assert proxy_of(url) == proxy_of(url, Guard(allow_private=True)) == expected
        assert proxy_of(url, Guard()) is None
