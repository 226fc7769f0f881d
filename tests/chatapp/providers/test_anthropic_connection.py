"""How calls reach a server: over aiohttp, to checked addresses only, through the server's proxy."""

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import RequestFactory

from chatapp.accounts.adapters import SingleSignOnAdapter
from chatapp.agent.ports import Model
from chatapp.project.network import Guard, tls
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.openai.provider import OpenAIProvider
from chatapp.providers.sdk_provider import SdkProvider
from tests.chatapp.providers.requests import failure, listen, reply, request
from tests.standin.server import Standin

MODEL = Model("claude-opus-5", 200_000, 1_000)
NAME = "llm.example.org"
ANSWER = b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


class Anywhere(Guard):
    """Takes every address for public, and knows the name's ones."""

    async def addresses(self, url: str) -> tuple[str, ...]:
        return tuple(await self.resolve("", 0))


def guard(*addresses: str) -> Guard:
    """Return a guard that finds these addresses for any name, and finds them good."""

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return addresses

    return Anywhere(resolve=resolve)


def provider(url: str, judge: Guard | None = None) -> AnthropicProvider:
    """Return a provider for an address."""
    return AnthropicProvider(MODEL, api_key="sk-own", base_url=url, guard=judge)


@asynccontextmanager
async def server(answer: bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[list[bytes]]:
    """Serve one answer to every request; yield what was asked, and the port as the first item."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        writer.write(answer)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    asked.append(str(listener.sockets[0].getsockname()[1]).encode())
    async with listener:
        yield asked


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """A server's certificate for NAME, which this process trusts for the test."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    names = [x509.DNSName(NAME), x509.DNSName("localhost")]
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    path.write_bytes(pem)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "key.pem").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, tmp_path / "key.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    tls.cache_clear()
    yield context
    tls.cache_clear()


async def test_a_pinned_call_checks_the_certificate_of_the_name(certified: ssl.SSLContext) -> None:
    """The name is never looked up; it is the host asked for, and its certificate counts."""
    async with server(ANSWER, certified) as asked:
        port = asked.pop(0).decode()
        error = await failure(provider(f"https://{NAME}:{port}", guard("127.0.0.1")))
        assert error.status == 404
        assert f"host: {NAME}:{port}".encode() in asked.pop().lower()
        other = provider(f"https://other.example:{port}", guard("127.0.0.1"))
        error = await failure(other, match="could not be reached .* not valid for this address")
        assert not error.retryable
        assert asked == []


async def test_tools_and_single_sign_on_trust_the_certificates_that_providers_do(
    certified: ssl.SSLContext,
) -> None:
    """A company has a CA of its own."""
    async with server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", certified) as asked:
        url = f"https://{NAME}:{asked.pop(0).decode()}"
        transport = await guard("127.0.0.1").transport(url)
        async with httpx2.AsyncClient(transport=transport) as client:
            assert (await client.get(url)).status_code == 200

        def ask() -> int:
            # The connection ends with the session; the server would wait half a minute for that.
            session = SingleSignOnAdapter(RequestFactory().get("/")).get_requests_session()
            return int(session.get(url.replace(NAME, "localhost")).status_code)

        assert await asyncio.to_thread(ask) == 200


async def test_a_pinned_call_reaches_the_api(standin: Standin) -> None:
    """Through the next address where one does not answer."""
    url = f"http://{NAME}:{standin.port}"
    said = await reply(provider(url, guard("127.0.0.9", "127.0.0.1")), request("Hi"))
    assert said.stop_reason == "end_turn"
    assert standin.requests[0].headers["host"] == url.removeprefix("http://")


@pytest.mark.parametrize("vendor", [AnthropicProvider, OpenAIProvider])
async def test_a_request_that_arrived_is_not_sent_to_another_address(
    vendor: type[SdkProvider],
) -> None:
    """A server that hangs up has read it, and may be working on it: it would be paid twice."""
    async with server(b"") as asked:
        port = asked.pop(0).decode()
        url, judge = f"http://{NAME}:{port}/v1", guard("127.0.0.1", "127.0.0.1")
        called = vendor(MODEL, api_key="sk-own", base_url=url, guard=judge)
        error = await failure(called, match="broke off before there was an answer")
        assert error.retryable
        assert len(asked) == 1


async def test_a_pinned_call_takes_no_proxy_and_others_take_the_environment_s(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would look the name up for itself; the operator's own address may need one."""
    async with server(ANSWER) as asked:
        proxy = asked.pop(0).decode()
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy}")
        await reply(provider(f"http://{NAME}:{standin.port}", guard("127.0.0.1")), request("Hi"))
        assert asked == []
        await failure(provider("http://gateway.example"))
        assert asked[0].startswith(b"POST http://gateway.example/v1/messages ")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        await reply(provider(standin.url), request("Hi"))
        assert len(asked) == 1


HEADERS = "X-Gateway: secret\nX-Api-Key: theirs\nno header\nX-Team: blue"


async def test_a_name_that_leads_into_the_network_is_not_called(standin: Standin) -> None:
    """The sentence says why; nothing is sent. One that is unknown can't be reached."""

    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    rebound = provider(f"http://llm.example.org:{standin.port}", Guard(resolve=resolve))
    error = await failure(rebound, match="operator has not allowed")
    assert not error.retryable
    assert await rebound.count_tokens(request("Hi")) is None
    assert standin.requests == standin.counts == []

    async def fail(_host: str, _port: int) -> Sequence[str]:
        raise OSError("Name or service not known")

    unknown = provider("http://llm.example.org", Guard(resolve=fail))
    error = await failure(unknown, match=r"reached at llm\.example\.org\. Nothing answers")
    assert error.retryable


async def test_the_servers_own_headers_go_to_the_servers_own_address_only(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK would send what its environment variable holds to every address."""
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", HEADERS)
    await listen(provider(standin.url, None), request("Hi"))
    guarded = provider(standin.url, Guard(allow_private=True))
    await listen(guarded, request("Hi"))
    await guarded.count_tokens(request("Hi"))
    servers, users = (one.headers for one in standin.requests)
    assert (servers["x-gateway"], servers["x-team"]) == ("secret", "blue")
    for headers in (users, standin.counts[0].headers):
        assert not {"x-gateway", "x-team"} & headers.keys()
        assert headers["x-api-key"] == "sk-own"
        assert "theirs" not in headers.values()
