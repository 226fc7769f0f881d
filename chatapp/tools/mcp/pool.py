"""Remote tools, and connections to their servers, which are kept for a while after a call."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from chatapp.agent.errors import ServerFailed
from chatapp.agent.ports import Line, ToolOutcome, ToolSpec
from chatapp.project.network import Guard
from chatapp.tools.mcp.servers import Definition, Listing, Server, Way
from condense import noop

if TYPE_CHECKING:
    from chatapp.tools.mcp.connection import Connection

# Seconds that a connection is kept without a call, and connections at once.
IDLE = 600.0
MAX_OPEN = 32

GONE = "The tool is not there any more, or not as you know it. From the next message on you see it."
NOT_INSTALLED = noop("This server can't use MCP servers: the package mcp is not installed.")
FORGOTTEN = noop("The MCP server {name} was changed or removed just now. Try again in a moment.")
TOO_MANY = noop("Too many MCP servers are in use at once. Try again in a moment.")

# A command that runs in one workspace is another than in the next.
_Key = tuple[Server, Path | None, bool]


async def connect(server: Server, root: Path, guard: Guard) -> "Connection":
    """Return a connection, not open yet; raise ServerFailed if the SDK is not installed.

    The SDK is imported in a thread: it takes a second.
    """
    try:
        module = await asyncio.to_thread(import_module, "chatapp.tools.mcp.connection")
    except ImportError as error:
        raise ServerFailed(NOT_INSTALLED) from error
    connection: Connection = module.Connection(server, root, guard)
    return connection


class Pool:
    """The connections of one event loop; one is closed ``idle`` seconds after its last call."""

    def __init__(self, *, idle: float = IDLE) -> None:
        self._idle = idle
        self._opening: dict[_Key, asyncio.Task[Connection]] = {}
        self._timers: dict[_Key, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def use(self, server: Server, root: Path, guard: Guard) -> "AsyncIterator[Connection]":
        """Lend an open connection, made if there is none; raise ServerFailed."""
        key = (server, root if server.way is Way.COMMAND else None, guard.allow_private)
        opening = await self._connected(key, root, guard)
        connection = opening.result()
        if timer := self._timers.pop(key, None):
            timer.cancel()
        connection.users += 1
        try:
            yield connection
        finally:
            connection.users -= 1
            self._rest(key, opening)

    async def _connected(self, key: _Key, root: Path, guard: Guard) -> "asyncio.Task[Connection]":
        opening = self._opening.get(key)
        if opening is None or (opening.done() and opening.result().ended):
            if len(self._opening) >= MAX_OPEN:
                resting = next(iter(self._timers), None)
                if resting is None:
                    raise ServerFailed(TOO_MANY)
                self._close(resting)
            opening = asyncio.create_task(self._open(key, root, guard))
            opening.add_done_callback(partial(self._rest, key))
            self._opening[key] = opening
        try:
            # The waiting call may be stopped; the next one still has the connection.
            await asyncio.shield(opening)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            # The opening was stopped, rather than the call that waits for it.
            if opening.cancelled() and not (task and task.cancelling()):
                raise ServerFailed(FORGOTTEN.format(name=key[0].name)) from None
            raise
        return opening

    async def _open(self, key: _Key, root: Path, guard: Guard) -> "Connection":
        try:
            connection = await connect(key[0], root, guard)
            await connection.open()
        except BaseException:
            # After it was closed, there may be another connection by now.
            if self._opening.get(key) is asyncio.current_task():
                del self._opening[key]
            raise
        return connection

    def _rest(self, key: _Key, opening: "asyncio.Task[Connection]") -> None:
        """Close an unused connection after ``idle`` seconds, and one that has ended at once."""
        # Another one may have its place. A failure is read, as its call may have been stopped.
        if opening.cancelled() or opening.exception() or self._opening.get(key) is not opening:
            return
        if opening.result().ended:
            self._close(key)
        elif not opening.result().users:
            self._timers[key] = asyncio.get_running_loop().call_later(self._idle, self._close, key)

    def _close(self, key: _Key) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()
        opening = self._opening.pop(key, None)
        if opening:
            task = asyncio.create_task(_end(opening))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def forget(self, server: int) -> None:
        """Close the connections to a server that was changed or removed; returns at once."""
        for key in [*self._opening]:
            if key[0].key == server:
                self._close(key)

    async def close(self) -> None:
        """Close all connections, and wait until they are."""
        for key in [*self._opening]:
            self._close(key)
        await asyncio.gather(*self._closing)


async def _end(opening: "asyncio.Task[Connection]") -> None:
    """Close a connection, or cancel its opening."""
    if not opening.done():
        opening.cancel()
        await asyncio.wait([opening])
    elif not opening.cancelled() and not opening.exception():
        await opening.result().close()


_pools: "WeakKeyDictionary[asyncio.AbstractEventLoop, Pool]" = WeakKeyDictionary()


def pool() -> Pool:
    """Return the connections of the loop that runs."""
    return _pools.setdefault(asyncio.get_running_loop(), Pool())


def forget(server: int) -> None:
    """Close all connections to a server; callable from any thread, returns at once."""
    for loop, own in [*_pools.items()]:
        if not loop.is_closed():
            loop.call_soon_threadsafe(own.forget, server)


# Called with a server's key and its tools of now.
Listener = Callable[[int, Listing], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class CallContext:
    """The context of a call: workspace, folder of long results, network guard and listener."""

    root: Path
    outputs: Path
    guard: Guard
    listener: Listener


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool that a server has; nothing is connected before it is called."""

    server: Server
    definition: Definition
    place: CallContext

    @property
    def spec(self) -> ToolSpec:
        """The tool's spec for the model."""
        return self.definition.spec(self.server)

    async def run(self, arguments: Mapping[str, Any], line: Line) -> ToolOutcome:
        """Return the server's result; raise ServerFailed.

        A tool whose definition has changed since it was shown to the model and allowed is not
        called.
        """
        place = self.place
        async with pool().use(self.server, place.root, place.guard) as connection:
            await connection.refresh()
            if self.definition not in connection.listing.definitions:
                await place.listener(self.server.key, connection.listing)
                raise ServerFailed(GONE)
            return await connection.call(self.definition.tool, arguments, line.show, place.outputs)


async def list_tools(server: Server, root: Path, guard: Guard) -> Listing:
    """Return a server's list of tools, through a connection of its own; raise ServerFailed."""
    connection = await connect(server, root, guard)
    try:
        await connection.open()
        return connection.listing
    finally:
        await connection.close()
