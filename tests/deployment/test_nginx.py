"""The nginx site of the documents, run by Debian's nginx in front of a server."""

import http.client
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoDbBlocker
from websockets.exceptions import InvalidStatus

from chatapp.accounts.credentials import create_api_token
from chatapp.accounts.rate_limits import FROM_ONE_NETWORK
from chatapp.models import ApiToken
from tests.chatapp.maintenance.installation import Installation
from tests.chatapp.test_serve import PATIENCE, serving
from tests.deployment.nginx_site import (
    JSON,
    LOOPBACK,
    NAME,
    ORIGIN,
    PUBLIC,
    Site,
    behind_nginx,
    sign_in,
)
from tests.first_start import FirstStart
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin


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
