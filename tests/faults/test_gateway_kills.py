"""Kill the server while it passes many streams on: what was sent through it is on record."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from chatapp.models import ApiToken
from tests.faults.harness import Server, words
from tests.first_start import FirstStart
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

TOKEN = "palimpsest_test"
WORD = re.compile(rb"\bw\d+ ")


async def begin(server: Server, model: str, text: str) -> asyncio.StreamWriter:
    """Send a request, and return its open line once the first word of its answer has come."""
    asked = {"role": "user", "content": text}
    told = {"model": model, "max_tokens": 400, "stream": True, "messages": [asked]}
    body = json.dumps(told).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"POST /gateway/v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {TOKEN}\r\n"
    head += f"anthropic-version: 2023-06-01\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    read = b""
    while not WORD.search(read):
        more = await reader.read(65_536)
        assert more, read
        read += more
    return writer


@pytest.mark.parametrize("count", [25, pytest.param(100, marks=pytest.mark.soak)])
def test_a_kill_among_many_streams_loses_no_request(
    tmp_path: Path, first_start: FirstStart, count: int
) -> None:
    """Each whose answer had begun is a conversation, and none of them runs any more."""
    gates = [Gate() for _number in range(count)]
    with Standin() as standin, Server(first_start.copy(tmp_path), standin) as server:
        server.start()
        server.ask(
            "INSERT INTO chatapp_apitoken (name, scope, digest, created_at, owner_id) "
            "SELECT 't', 'gateway', ?, date_joined, id FROM auth_user",
            ApiToken.digest_of(TOKEN),
        )
        query = "SELECT model FROM chatapp_profile WHERE provider = 'anthropic'"
        (model,), *_rest = server.ask(query)
        standin.then(*[Reply(words(30), gate=gate) for gate in gates])
        asked = [f"Number {number}." for number in range(count)]

        async def stream() -> None:
            lines = await asyncio.gather(*[begin(server, model, text) for text in asked])
            server.kill()
            for line in lines:
                line.close()

        asyncio.run(stream())
        for gate in gates:
            gate.open()
        server.start()
        said = server.ask("SELECT content FROM chatapp_message WHERE role = 'user'")
        assert sorted(json.loads(text)[0]["text"] for (text,) in said) == sorted(asked)
        assert server.count("chatapp_conversation") == count
        # On a slow machine the provider's patience may end before the server is killed.
        ended = "status IN ('interrupted', 'succeeded')"
        assert server.count(f"chatapp_modelcall WHERE {ended}") == count
