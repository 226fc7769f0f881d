"""A tool of a server, as the toolbox runs it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from chatapp.agent.toolbox import Line, ToolOutcome, ToolSpec
from chatapp.network.addresses import Guard
from chatapp.tools.mcp.definitions import Definition, Listing
from chatapp.tools.mcp.pool import load, pool
from chatapp.tools.mcp.servers import Server, ServerFailed

GONE = "The tool is not there any more, or not as you know it. From the next message on you see it."

# Told what a server lists now.
Listener = Callable[[Server, Listing], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where tools of servers are used: in which workspace, where long results are kept, by whom."""

    root: Path
    outputs: Path
    guard: Guard
    listener: Listener


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool that a server has; nothing is connected before it is called."""

    server: Server
    definition: Definition
    place: Place

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is told about it."""
        return self.definition.spec(self.server)

    async def run(self, arguments: Mapping[str, Any], line: Line) -> ToolOutcome:
        """Return what the server says; raise ServerFailed.

        A tool that is not any more what the model, and whoever allowed it, were told is not called.
        """
        place, tool = self.place, self.definition.tool
        async with pool().use(self.server, place.root, place.guard) as connection:
            await connection.refresh()
            if connection.listing.find(tool) != self.definition:
                await place.listener(self.server, connection.listing)
                raise ServerFailed(GONE)
            result = await connection.call(tool, arguments, line.show)
        made = import_module("chatapp.tools.mcp.results").outcome_of
        outcome: ToolOutcome = await asyncio.to_thread(made, result, self.server, place.outputs)
        return outcome


async def list_tools(server: Server, root: Path, guard: Guard) -> Listing:
    """Return what a server lists, through a connection of its own; raise ServerFailed."""
    connection = (await load())(server, root, guard)
    try:
        await connection.open()
        return connection.listing
    finally:
        await connection.close()
