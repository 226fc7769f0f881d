"""The nginx site of the documents in front of a server, and somebody who asks it."""

import http.client
import json
import os
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from websockets.sync.client import ClientConnection, connect

from tests.chatapp.test_serve import PATIENCE, ROOT
from tests.cluster.services import free_port
from tests.deployment.debian import need, running
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
