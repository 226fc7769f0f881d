"""A model that costs next to nothing, as a process of its own: it streams words at a given pace.

A message's text says how: ``SAY 400 EVERY 0.025``, words and seconds. Prints its port.
"""

import asyncio
import json
import re
import time
from typing import Any

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_1\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
ASKED = re.compile(r"SAY (\d+)(?: EVERY ([\d.]+))?")
UNSENT = "0" * 9
# Tokens that a title may have at most.
TITLE = 1_000
# A share of the pace by which each stream lags behind the one before, so that none tick together.
GOLDEN = 0.618


def event(name: str, **fields: Any) -> bytes:
    """Return one server-sent event as a chunk of HTTP."""
    data = f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def word(number: int) -> tuple[bytes, bytes]:
    """Return the event that brings a word, which is when it is sent; each twelfth ends a paragraph.

    What is missing are the last digits of the microseconds of the machine's clock, as ``UNSENT``.
    """
    text = f"w{UNSENT}" + ("\n\n" if number % 12 == 11 else " ")
    sent = event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    before, _, after = sent.partition(UNSENT.encode())
    return before, after


def usage(prompt: int, output: int) -> dict[str, int]:
    """Return a report of what a call used."""
    cached = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    return {"input_tokens": prompt, "output_tokens": output, **cached}


def beginning(model: str, prompt: int) -> bytes:
    """Return all that comes before the first word."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage(prompt, 1),
    }
    block = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    return HEAD + event("message_start", message=message) + block


def end(prompt: int, words: int) -> bytes:
    """Return all that comes after the last word."""
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    told = event("message_delta", delta=delta, usage=usage(prompt, words))
    return event("content_block_stop", index=0) + told + event("message_stop") + b"0\r\n\r\n"


class Model:
    """All streams of this process."""

    def __init__(self) -> None:
        self.streams = 0
        self.words = [word(number) for number in range(2_000)]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it is closed."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1")
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1]) if length else 0)
                await self.answer(json.loads(body), len(body) // 4, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, body: Any, prompt: int, writer: asyncio.StreamWriter) -> None:
        """Stream what the last message asks for, on a schedule that does not drift."""
        # What asks for a title quotes the message.
        is_title = body["max_tokens"] <= TITLE
        asked = not is_title and ASKED.search(json.dumps(body["messages"][-1]["content"]))
        count, pace = (int(asked[1]), float(asked[2] or 0)) if asked else (12, 0.0)
        self.streams += 1
        loop = asyncio.get_running_loop()
        start = loop.time() + pace * (self.streams * GOLDEN % 1)
        writer.write(beginning(body["model"], prompt))
        for number in range(count):
            await asyncio.sleep(max(0.0, start + number * pace - loop.time()))
            before, after = self.words[number]
            now = time.monotonic_ns() // 1_000 % 10 ** len(UNSENT)
            writer.write(b"%s%09d%s" % (before, now, after))
            await writer.drain()
        writer.write(end(prompt, count))
        await writer.drain()


async def main() -> None:
    """Listen on a free port until killed."""
    server = await asyncio.start_server(Model().serve, "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
