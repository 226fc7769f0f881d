"""Rows of the gateway: what it costs to pass streams on, beside the bare SDK that reads them."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from time import monotonic

from django.conf import settings
from django.contrib.auth.models import User

from chatapp.accounts import credentials
from chatapp.models import Profile
from tests.bench.server import Server, model, printed, serving
from tests.bench.table import Row
from tests.bench.turns import BARE, PACED, WORDS

SESSIONS = 30
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
    """Yield the rows of streams that many programs read at once, and of one."""
    with model() as url:
        owner, _made = User.objects.get_or_create(username="gateway")
        profile = Profile(owner=owner, name="Gateway", provider="anthropic", model="m")
        profile.base_url, profile.context_window, profile.max_output = url, 200_000, 8_000
        profile.set_key("x")
        profile.save()
        token = credentials.create_api_token(
            owner=owner, name="bench", scope="gateway", profile=profile
        )
        environment = {"DATA_DIR": str(settings.DATA_DIR), "ALLOW_PRIVATE_ADDRESSES": "1"}
        with serving(**environment) as server:
            direct = Client(url.removeprefix("http://"), "/v1/messages", "x")
            passed = Client(server.netloc, "/gateway/v1/messages", token)
            here, opened = asyncio.run(_stream(server, passed))
            through, alone = asyncio.run(_first(passed)), asyncio.run(_first(direct))
        least = json.loads(printed("tests.bench.bare", url, str(SESSIONS), PACED))
    yield Row(
        f"1,000 events through the gateway, {SESSIONS} at once", here, "ms", 0.6, BARE, least["cpu"]
    )
    yield Row("… opened and closed", opened, "ms", 30)
    yield Row("… until the first word", through - alone, "ms", 5)


async def _stream(server: Server, client: Client) -> tuple[float, float]:
    """Return the processor milliseconds of 1,000 events, and those of a short request."""
    await client.ask(ONE)
    spent = []
    for text in (PACED, ONE):
        before = server.cpu
        await asyncio.gather(*[client.ask(f"{text} {number}") for number in range(SESSIONS)])
        await asyncio.sleep(2)
        spent.append(1_000 * (server.cpu - before) / SESSIONS)
    return 1_000 * (spent[0] - spent[1]) / WORDS, spent[1]


async def _first(client: Client) -> float:
    """Return the median of the milliseconds until the first word of one request after another."""
    return 1_000 * median([await client.ask(f"{ONE} alone {number}") for number in range(20)])
