"""Rows of the gateway: what it costs to pass streams on, beside the bare SDK that reads them."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlparse

from django.conf import settings
from django.contrib.auth.models import User

from chatapp.accounts import credentials
from chatapp.models import Profile, accounts
from tests.bench.server import Server, model, printed, serving
from tests.bench.table import Row
from tests.bench.turns import BARE, PACED, WORDS

SESSIONS = 30
# Seconds after which all is stored, and whatever a start has left is done.
RESTED = 3.0
WORD = re.compile(rb"w\d{9}")
ONE = "SAY 1"


@dataclass(frozen=True, slots=True)
class Client:
    """A program that sends requests to one address, as bytes of HTTP."""

    netloc: str
    path: str
    token: str

    async def ask(self, text: str) -> float:
        """Read an answer to its end; return the seconds until its first word."""
        asked = {"role": "user", "content": text}
        fields = {"model": "m", "max_tokens": 8_000, "stream": True, "messages": [asked]}
        body = json.dumps(fields).encode()
        head = f"POST {self.path} HTTP/1.1\r\nhost: {self.netloc}\r\nx-api-key: {self.token}\r\n"
        host, _, port = self.netloc.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        sent, first, rest = monotonic(), 0.0, b""
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        while b"\r\n0\r\n\r\n" not in rest:
            read = await reader.read(65_536)
            if not read:
                raise RuntimeError(rest)
            rest = rest[-100:] + read
            first = first or (monotonic() - sent if WORD.search(rest) else 0.0)
        writer.close()
        return first


def measure_gateway() -> Iterator[Row]:
    """Yield the rows of streams that many programs read at once, and of one program alone."""
    with model() as url:
        environment = {"DATA_DIR": str(settings.DATA_DIR), "ALLOW_PRIVATE_ADDRESSES": "1"}
        token = _token(url)
        with serving(**environment) as server:
            passed = Client(server.netloc, "/gateway/v1/messages", token)
            direct = Client(urlparse(url).netloc, "/v1/messages", "x")
            short = asyncio.run(_stream(server, passed, ONE))
            here = (asyncio.run(_stream(server, passed, PACED)) - short) / WORDS
            through, alone = asyncio.run(_first(passed, direct))
        least = json.loads(printed("tests.bench.bare", url, str(SESSIONS), PACED))
    work = f"1,000 events through the gateway, {SESSIONS} answers at once"
    yield Row(work, 1_000 * here, "ms", 0.6, BARE, least["cpu"])
    yield Row("… to open and close each, and to keep it", short, "ms", 0.4, BARE, least["cpu"])
    yield Row("… added until the first word of one alone", through - alone, "ms", 5)


def _token(url: str) -> str:
    """Return a token of a new user's, whose requests go to an address."""
    owner = User.objects.create(username="gateway")
    accounts.preferences_of(owner)
    profile = Profile(owner=owner, name="Gateway", provider="anthropic", model="m", base_url=url)
    profile.context_window, profile.max_output = 200_000, 8_000
    profile.set_key("x")
    profile.save()
    told = {"name": "bench", "scope": "gateway", "profile": profile}
    return credentials.create_api_token(owner=owner, **told)


async def _stream(server: Server, client: Client, text: str) -> float:
    """Return the processor milliseconds of each of many answers at once."""
    # The first one is there to warm up.
    await client.ask(ONE)
    await asyncio.sleep(RESTED)
    before = server.cpu
    await asyncio.gather(*[client.ask(f"{text} {number}") for number in range(SESSIONS)])
    await asyncio.sleep(RESTED)
    return 1_000 * (server.cpu - before) / SESSIONS


async def _first(*clients: Client) -> list[float]:
    """Return the least milliseconds until the first word, of requests one after another.

    On a crowded machine the others wait for their turn of the processor.
    """
    taken: list[list[float]] = [[] for _client in clients]
    for number in range(40):
        for client, found in zip(clients, taken, strict=True):
            found.append(await client.ask(f"{ONE} alone {number}"))
    return [1_000 * min(found) for found in taken]
