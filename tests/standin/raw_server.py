"""A server that keeps each request as the bytes it was, and answers with bytes of a script."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass
class Script:
    """An answer in ``chunks``, each written by itself; it breaks off after them if it is ``cut``.

    The first of them is sent at once, the others once the ``gate`` is open. Without a
    ``status`` the line is closed instead.
    """

    chunks: Sequence[bytes]
    status: str = "200 OK"
    headers: Sequence[str] = ("content-type: text/event-stream",)
    cut: bool = False
    gate: asyncio.Event | None = None


@dataclass
class RawServer:
    """Requests by their heads and bodies; ``left`` is set where a client went away first.

    Behind the script it answers as ``default`` says. If it ``rests``, it keeps its lines open, and
    closes each with the next request.
    """

    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    script: deque[Script] = field(default_factory=deque)
    default: Callable[[bytes], Script] | None = None
    left: asyncio.Event = field(default_factory=asyncio.Event)
    rests: bool = False
    resting: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, and close the line."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length[1])) if length else b""
        self.heads.append(head)
        self.bodies.append(body)
        told = self.default(body) if self.default and not self.script else self.script.popleft()
        if not told.status:
            writer.close()
            return
        lines = [f"HTTP/1.1 {told.status}", *told.headers]
        writer.write("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode())
        gone = asyncio.ensure_future(reader.read(1))
        gone.add_done_callback(lambda _done: self.left.set())
        for number, chunk in enumerate(told.chunks):
            if number and told.gate:
                opened = asyncio.ensure_future(told.gate.wait())
                await asyncio.wait({opened, gone}, return_when=asyncio.FIRST_COMPLETED)
                opened.cancel()
            if gone.done():
                break
            writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            await writer.drain()
            await asyncio.sleep(0)
        if not told.cut:
            writer.write(b"0\r\n\r\n")
        if self.rests:
            self.resting.append(writer)
            await writer.drain()
            await gone
        gone.cancel()
        writer.close()


@asynccontextmanager
async def raw_server(port: int = 0) -> AsyncIterator[RawServer]:
    """Yield a server that listens on loopback."""
    made = RawServer()
    server = await asyncio.start_server(made.serve, "127.0.0.1", port)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made
        for one in made.resting:
            one.close()
