"""The stand-in's server, which ends when it is told to; those of a process share one thread."""

import asyncio
import socket
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import override

import uvicorn

GRACE = 1.0  # seconds for what is being answered in the end
GATES = 64


@cache
def servers_loop() -> asyncio.AbstractEventLoop:
    """Return the loop on which every server of this process listens, each on a port of its own."""
    loop = asyncio.new_event_loop()
    # As many streams can stand at gates at once, whichever server they are of.
    loop.set_default_executor(ThreadPoolExecutor(GATES))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


class Listening(uvicorn.Server):
    """Ends at once: uvicorn's own looks ten times a second, which takes hundreds of tests 0.2 s."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.over: Future[None] = Future()

    @override
    async def main_loop(self) -> None:
        await self.on_tick(0)
        await asyncio.wrap_future(self.over)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        state = self.server_state
        for connection in [*state.connections]:
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=GRACE)
        for task in state.tasks:
            task.cancel()
