"""The stand-in's server, which ends when it is told to."""

import asyncio
import socket
from concurrent.futures import Future
from typing import override

import uvicorn

GRACE = 1.0  # seconds for what is being answered in the end


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
