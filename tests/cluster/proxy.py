"""A round-robin proxy for HTTP and WebSocket: each new connection goes to the next web process."""

import asyncio
import contextlib
import itertools
from collections.abc import Sequence

CHUNK = 65_536


class Proxy:
    """Passes the bytes of each connection on to one of some loopback ports, which take turns."""

    def __init__(self, ports: Sequence[int]) -> None:
        """Know the ports; ``open`` listens."""
        self._ports = itertools.cycle(ports)
        self._count = len(ports)
        self._server: asyncio.Server | None = None
        self.port = 0

    async def open(self, port: int = 0) -> None:
        """Listen on a loopback port, a free one unless it is given."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Listen no more; what is connected stays so until one side closes."""
        if self._server:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect to the next port that answers, and pass on what comes from either side."""
        with contextlib.suppress(OSError), contextlib.closing(writer):
            for _ in range(self._count):
                try:
                    back, forth = await asyncio.open_connection("127.0.0.1", next(self._ports))
                except ConnectionRefusedError:
                    continue
                with contextlib.closing(forth):
                    ways = [
                        asyncio.create_task(self._pass(reader, forth)),
                        asyncio.create_task(self._pass(back, writer)),
                    ]
                    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                    for way in ways:
                        way.cancel()
                return

    @staticmethod
    async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes until one side has closed."""
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                writer.write(data)
                await writer.drain()
