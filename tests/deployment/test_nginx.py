"""The nginx site of the documents, run by Debian's nginx in front of a server."""

import http.client
import json
import os
import re
import socket
import ssl
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.contrib.auth.models import User
from pytest_django import DjangoDbBlocker
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from chatapp.accounts.credentials import create_api_token
from chatapp.accounts.rate_limits import FROM_ONE_NETWORK
from chatapp.models import ApiToken
from tests.chatapp.records.maintenance.installation import Installation
from tests.chatapp.server_processes import PATIENCE, serving
from tests.cluster.services import free_port
from tests.deployment.debian import need, running
from tests.first_start import FirstStart
from tests.processes import ROOT
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

SITE = ROOT / "docs" / "deploy" / "nginx.conf"
NAME, LOOPBACK = "chat.example.org", "127.0.0.1"
JSON = "application/json"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
ORIGIN = f"https://{NAME}"
PUBLIC = {"PUBLIC_URL": ORIGIN, "TRUSTED_PROXIES": LOOPBACK}
AROUND = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{user}
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


@dataclass
class Site:
    """The site and what is behind it, as somebody at a loopback address reaches it."""

    port: int
    redirecting: int
    trusted: ssl.SSLContext
    standin: Standin = field(default_factory=Standin)
    token: str = ""
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def cookie(self) -> str:
        """The header with all cookies."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    @contextmanager
    def asked(
        self, method: str, path: str, body: Any = None, at: str = LOOPBACK, **headers: str
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield the answer to a request, whose body is still to be read."""
        line = http.client.HTTPSConnection(
            LOOPBACK, self.port, timeout=PATIENCE, context=self.trusted, source_address=(at, 0)
        )
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        own = {"Host": NAME, "Origin": ORIGIN, "Referer": f"{ORIGIN}/", "Cookie": self.cookie}
        with closing(line):
            line.request(method, path, body, own | given)
            with line.getresponse() as answer:
                for cookie in answer.headers.get_all("Set-Cookie") or []:
                    assert "; Secure" in cookie
                    name, _, value = cookie.partition(";")[0].partition("=")
                    self.cookies[name] = value
                yield answer

    def ask(self, *request: Any, **more: Any) -> tuple[int, str]:
        """Return the status and the text of the answer to a request."""
        with self.asked(*request, **more) as answer:
            return answer.status, answer.read().decode()

    def converse(self) -> str:
        """Return the id of a new conversation, made by a program."""
        bearer = f"Bearer {self.token}"
        status, text = self.ask(
            "POST", "/api/conversations", "{}", Authorization=bearer, Content_Type=JSON
        )
        assert status == 201, text
        return str(json.loads(text)["id"])

    def open_socket(self, path: str, origin: str) -> ClientConnection:
        """Open a socket as a page of an origin does."""
        line = socket.create_connection((LOOPBACK, self.port))
        cookie = {"Cookie": self.cookie}
        patience: Any = {"open_timeout": PATIENCE, "ping_timeout": None, "ssl": self.trusted}
        uri = f"wss://{NAME}/ws{path}"
        return connect(uri, sock=line, origin=origin, additional_headers=cookie, **patience)  # type: ignore[arg-type] # a plain string


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Return a certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    names = [x509.DNSName(NAME), x509.IPAddress(ip_address(LOOPBACK))]
    begin = datetime.now(UTC) - timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=3))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "certificate.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@contextmanager
def behind_nginx(folder: Path) -> Iterator[tuple[Site, str]]:
    """Run nginx with the very file, but for ports and the certificate; yield the server's port.

    The second process that it names is not there.
    """
    certificate, key = make_certificate(folder)
    secure, plain, port = free_port(), free_port(), free_port()
    text = SITE.read_text("utf-8")
    for written, here in {
        "listen 80;": f"listen {LOOPBACK}:{plain};",
        "listen 443 ssl http2;": f"listen {LOOPBACK}:{secure} ssl http2;",
        "server 127.0.0.1:8001;": f"server {LOOPBACK}:{port};",
        "server 127.0.0.1:8002;": f"server {LOOPBACK}:{free_port()};",
        "/etc/ssl/certs/chat.example.org.pem": str(certificate),
        "/etc/ssl/private/chat.example.org.key": str(key),
    }.items():
        assert written in text
        text = text.replace(written, here)
    user = "user root;" if os.geteuid() == 0 else ""
    path = folder / "nginx.conf"
    path.write_text(AROUND.format(folder=folder, user=user, site=text))
    with running(secure, need("nginx"), "-c", str(path), "-e", str(folder / "error.log")):
        yield Site(secure, plain, ssl.create_default_context(cafile=str(certificate))), str(port)


def sign_in(site: Site, path: str) -> None:
    """Follow a link that signs in, as a browser does."""
    _status, page = site.ask("GET", path)
    form = urlencode({"csrfmiddlewaretoken": TOKEN.findall(page)[0]})
    status, _page = site.ask("POST", path, form, Content_Type="application/x-www-form-urlencoded")
    assert status == 302


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory,
    first_start: FirstStart,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Site]:
    """The site before a server that was told its address and its proxy, and no more of either."""
    folder = tmp_path_factory.mktemp("nginx")
    data = first_start.copy(folder / "data")
    with django_db_blocker.unblock(), Installation(data).entered():
        owner, scope = User.objects.get(), ApiToken.Scope.WRITE
        made = create_api_token(owner=owner, name="T", scope=scope)
    with Standin() as standin:
        own = {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": standin.url, **PUBLIC}
        with behind_nginx(folder) as (there, port), serving(data, PORT=port, **own) as (_, link):
            there.standin, there.token = standin, made
            sign_in(there, urlsplit(link.strip()).path)
            yield there


def test_pages_come_over_tls_only(site: Site) -> None:
    """Whoever asks without it is sent there; the page knows that it came so."""
    with closing(http.client.HTTPConnection(LOOPBACK, site.redirecting, timeout=PATIENCE)) as line:
        line.request("GET", "/settings/", headers={"Host": NAME})
        answer = line.getresponse()
        assert (answer.status, answer.headers["Location"]) == (301, f"{ORIGIN}/settings/")
    status, page = site.ask("GET", "/settings/")
    assert (status, "<h1" in page) == (200, True)
    with site.asked("GET", "/settings/", X_Request_ID="chosen-by-a-visitor") as answered:
        assert answered.headers["Strict-Transport-Security"] == "max-age=31536000"
        assert re.fullmatch("[0-9a-f]{32}", answered.headers["X-Request-ID"])
    assert "sessionid" in site.cookies


def test_another_name_leads_to_the_public_address(site: Site) -> None:
    """Which no visitor chooses, neither with TLS nor without."""
    other = {"Host": "evil.example"}
    with site.asked("GET", "/settings/", **other) as answer:
        assert (answer.status, answer.headers["Location"]) == (302, f"{ORIGIN}/settings/")
    assert site.ask("POST", "/settings/", **other)[0] == 400
    with closing(http.client.HTTPConnection(LOOPBACK, site.redirecting, timeout=PATIENCE)) as line:
        line.request("GET", "/settings/", headers=other)
        assert line.getresponse().headers["Location"] == f"{ORIGIN}/settings/"


def test_a_process_that_is_not_there_is_left_out(site: Site) -> None:
    """Nobody sees that one of two is being started anew."""
    assert {site.ask("GET", "/healthz") for _ in range(10)} == {(200, "ok")}


def test_the_numbers_of_a_process_are_not_for_visitors(site: Site) -> None:
    """Each request would ask another one."""
    assert site.ask("GET", "/metrics")[0] == 404


def test_a_file_of_20_megabytes_comes_through(site: Site) -> None:
    """The server has read each of its characters, and says itself what is too much."""
    boundary = uuid.uuid4().hex
    head = (
        f"--{boundary}\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n"
        "Content-Type: text/plain\r\n\r\n"
    ).encode()
    body = head + b"words and " * 2_000_000 + f"\r\n--{boundary}--\r\n".encode()
    status, text = site.ask(
        "POST", "/api/attachments", body, Authorization=f"Bearer {site.token}",
        Content_Type=f"multipart/form-data; boundary={boundary}",
    )  # fmt: skip
    assert (status, "it has 20,000,000 characters" in text) == (409, True)
    status, text = site.ask("POST", "/sign-in/", bytes(256 * 2**20 + 1))
    assert (status, "up to 256 MB" in text) == (413, True)


def test_a_socket_stays_open_for_pages_of_this_site_alone(site: Site) -> None:
    """What happens in the conversation comes through it, word by word."""
    path, gate = f"/c/{site.converse()}/", Gate()
    site.standin.then(Reply("One two three four five six.", gate=gate))
    with pytest.raises(InvalidStatus):
        site.open_socket(path, "https://evil.example")
    with site.open_socket(path, ORIGIN) as page:
        said = {"type": "message.send", "text": "Count.", "nonce": str(uuid.uuid4())}
        page.send(json.dumps(said))
        while json.loads(page.recv(PATIENCE))["type"] != "text.streamed":
            pass
        gate.open()


def test_an_event_does_not_wait_for_those_after_it(site: Site) -> None:
    """A program reads the first words while the model has not said the others."""
    chat, gate = site.converse(), Gate()
    site.standin.then(Reply("One two three four five six.", gate=gate))
    with site.asked(
        "POST", f"/api/conversations/{chat}/messages", json.dumps({"text": "Count."}),
        Authorization=f"Bearer {site.token}", Content_Type=JSON,
    ) as stream:  # fmt: skip
        assert stream.headers["Content-Type"] == "text/event-stream"
        while b"event: text" not in stream.readline():
            pass
        assert not gate.is_open
        gate.open()
        assert b"event: end" in stream.read()


def test_guesses_are_counted_by_the_address_that_nginx_sees(site: Site) -> None:
    """Whatever a client says of itself, and nobody else's network is held back."""

    def guess(number: int, at: str) -> int:
        claimed = f"203.0.113.{number}"
        wrong = {"Authorization": f"Bearer wrong{number}", "X-Forwarded-For": claimed}
        return site.ask("GET", "/api/conversations", at=at, **wrong)[0]

    answers = [guess(number, "127.0.0.2") for number in range(FROM_ONE_NETWORK + 1)]
    assert answers == [401] * FROM_ONE_NETWORK + [429]
    assert guess(0, "127.0.0.3") == 401
