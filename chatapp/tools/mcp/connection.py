"""One connection to a server: opened, asked and closed, each within its time; its results."""

import asyncio
import base64
import binascii
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client, MCPError
from pydantic import TypeAdapter, ValidationError

import condense
from chatapp.agent.errors import ServerFailed, ToolError
from chatapp.agent.ports import ToolOutcome
from chatapp.project.network import Guard, proxy_of, why_unreached
from chatapp.tools.documents import image_of
from chatapp.tools.long_outputs import HEAD, TAIL, cut_in_the_middle, plain
from chatapp.tools.mcp.servers import MAX_TOOLS, Listing, Server, Way, listing_of
from chatapp.tools.mcp.transports import CommandTransport, WebTransport
from chatapp.tools.shell import make_room
from chatapp.tools.workspace import show_size
from condense import noop, say

log = logging.getLogger(__name__)

OPENING, CLOSING = 30.0, 10.0  # seconds to open and to list, and to close
SILENCE, LONGEST = 120.0, 1_800.0  # seconds without a sign of progress, and of a whole call
# Seconds between two signs of progress that are shown.
PROGRESS_PAUSE = 0.25
# Seconds for which a listing is believed: a server may become another meanwhile.
LISTING_LIFETIME = 30.0
# Images of one result.
MAX_IMAGES = 8

_ME = types.Implementation(name="palimpsest", title="Palimpsest", version="1")
_Part = str | condense.ImageBlock
_ANSWER: TypeAdapter[Any] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)


class Connection:
    """A connection, not open yet; it lives in a task of its own, which opens and closes it.

    A command runs in ``root``.
    """

    def __init__(self, server: Server, root: Path, guard: Guard) -> None:
        self.server = server
        self.listing = Listing(())
        self.users = 0
        self.silence, self.longest = SILENCE, LONGEST
        self._transport: WebTransport | CommandTransport = (
            WebTransport(server, guard)
            if server.way is Way.HTTP
            else CommandTransport(server, root)
        )
        self._proxy = proxy_of(server.address, guard)
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._listed = 0.0

    @property
    def ended(self) -> bool:
        """True once the connection takes no more requests."""
        return self._transport.ended.is_set() or bool(self._task and self._task.done())

    async def open(self, seconds: float = OPENING) -> None:
        """Connect, and read the list of tools; raise ServerFailed."""
        self._task = asyncio.create_task(self._live())
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._opened)
                await self._list()
        except TimeoutError as error:
            await self.close()
            said = say("It did not answer within {seconds} s.", seconds=round(seconds))
            raise self._failed(said) from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the connection within a time limit; calls that wait for an answer fail."""
        self._transport.ended.set()
        task = self._task
        if task and not task.done():
            await asyncio.wait([task], timeout=0 if not self._opened.done() else CLOSING)
            task.cancel()
            await asyncio.wait([task], timeout=CLOSING)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], show: Callable[[str], None], outputs: Path
    ) -> ToolOutcome:
        """Return a tool's result; raise ServerFailed. A cancellation stops the call on the server.

        A long text is kept in ``outputs``.
        """
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        )
        shown = 0.0

        async def told(progress: float, total: float | None, message: str | None) -> None:
            """Extend the time limit of a call, and show progress once in ``PROGRESS_PAUSE``."""
            nonlocal shown
            with suppress(RuntimeError):
                # It raises if the call is over by now.
                extend()
            if time.monotonic() - shown > PROGRESS_PAUSE:
                shown = time.monotonic()
                share = f"{progress:g} / {total:g}" if total else f"{progress:g}"
                show(self.server.hide(f"{share} {message or ''}".strip()[:1_000]))

        async with self._asking() as (client, extend):
            # Not ``call_tool``: that has a stranger's patterns search a stranger's text.
            result = await client.session.send_request(request, _ANSWER, progress_callback=told)
        if not isinstance(result, types.CallToolResult):
            raise self._failed("It asks back, which this server can't answer.")
        return await asyncio.to_thread(outcome_of, result, self.server, outputs)

    async def refresh(self) -> None:
        """Read the list of tools again, unless it is fresh."""
        if time.monotonic() - self._listed > LISTING_LIFETIME:
            await self._list()

    async def _list(self) -> None:
        tools: list[types.Tool] = []
        cursor = None
        async with self._asking() as (client, _extend):
            for _ in range(MAX_TOOLS + 1):
                page = await client.list_tools(cursor=cursor)
                tools += page.tools
                cursor = page.next_cursor
                if cursor is None or len(tools) > MAX_TOOLS:
                    break
            else:
                raise ValueError("pages without tools")
        self._listed = time.monotonic()
        self.listing = await asyncio.to_thread(listing_of, self.server, tools)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[tuple[Client, Callable[[], None]]]:
        """Lend the client for one request, with a function that extends its time limit.

        Raises ServerFailed with the reason of a failure.
        """
        client, loop = await asyncio.shield(self._opened), asyncio.get_running_loop()
        until = loop.time() + self.longest
        try:
            async with asyncio.timeout(self.silence) as timeout:
                yield client, lambda: timeout.reschedule(min(loop.time() + self.silence, until))
        except TimeoutError as error:
            said, seconds = noop("It did not answer within {seconds} s."), self.longest
            if loop.time() < until:
                said = noop("It said nothing for {seconds} s, so the call was cancelled.")
                seconds = self.silence
            raise self._failed(said.format(seconds=round(seconds))) from error
        except MCPError as error:
            # The connection ended, or the server says no.
            if error.code in {types.CONNECTION_CLOSED, types.INVALID_REQUEST}:
                self._transport.ended.set()
            if error.code == types.CONNECTION_CLOSED and self._task:
                # Only the end of the server says why.
                await asyncio.wait([self._task], timeout=CLOSING)
            raise self._failed(self._transport.problem or error.message) from error
        except (ValidationError, ValueError) as error:
            raise self._failed(noop("Its answer does not follow the protocol.")) from error

    def _failed(self, why: str) -> ServerFailed:
        said = self.server.hide(plain(why.encode(errors="replace")))[:1_000]
        return ServerFailed(
            say("The MCP server {name}: {problem}", name=self.server.name, problem=said)
        )

    async def _live(self) -> None:
        """Hold the connection open until it ends, in one task, as the SDK requires."""
        try:
            async with Client(self._transport, cache=None, client_info=_ME) as client:
                self._opened.set_result(client)
                await self._transport.ended.wait()
        except Exception as error:  # noqa: BLE001 - of any kind: a stranger is at the other end
            self._transport.problem = self._transport.problem or self._reason(error)
        finally:
            self._transport.ended.set()
            if not self._opened.done():
                problem = self._transport.problem or noop("It ended the connection.")
                self._opened.set_exception(self._failed(problem))
                # Read, since nobody may be waiting for it.
                self._opened.exception()

    def _reason(self, error: BaseException) -> str:
        """Return the first cause of a connection's end, as a sentence."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ToolError):
            return str(error)
        if isinstance(error, MCPError):
            return say("It refuses the connection: {said}", said=error.message)
        if isinstance(error, httpx2.HTTPError):
            return say("It could not be reached. {why}", why=why_unreached(error, self._proxy))
        # The text of an unknown error may name folders of this machine.
        log.warning("the connection to an MCP server broke off", exc_info=error)
        return noop("The connection to it broke off. The log of this server says more.")


def outcome_of(result: types.CallToolResult, server: Server, outputs: Path) -> ToolOutcome:
    """Return a result as the model gets it; a long text is kept in ``outputs``, to be read on."""
    parts = [_part(block) for block in result.content]
    texts = [part for part in parts if isinstance(part, str)]
    images = [part for part in parts if not isinstance(part, str)]
    structured = result.structured_content
    # Most servers also send it as a text, for clients that read nothing else.
    if structured is not None and not any(_says(text, structured) for text in texts):
        texts.append(json.dumps(structured, ensure_ascii=False))
    if len(images) > MAX_IMAGES:
        texts.append(f"[Only the first {MAX_IMAGES} of {len(images)} images.]")
    data = server.hide("\n".join(texts)).encode(errors="replace")
    text = plain(data) or "[No output.]"
    if len(data) > HEAD + TAIL:
        output = make_room(outputs)
        output.write_bytes(data)
        text = cut_in_the_middle(output)
    return ToolOutcome(text, result.is_error, tuple(images[:MAX_IMAGES]))


def _says(text: str, structured: object) -> bool:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = text
    return structured in (said, {"result": said}, {"result": text})


def _part(block: types.ContentBlock) -> _Part:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent():
            return _image(block.data, block.mime_type)
        case types.AudioContent():
            return f"[Sound, {block.mime_type}: it can't be heard here.]"
        case types.EmbeddedResource():
            found = block.resource
            if isinstance(found, types.TextResourceContents):
                return f"[{found.uri}]\n{found.text}"
            return _image(found.blob, found.mime_type or "", f"{found.uri}, ")
        case types.ResourceLink():
            return f"[{block.name}: {block.uri}] {block.description or ''}".rstrip()


def _image(encoded: str, kind: str, name: str = "") -> _Part:
    """Return an image as a block, and a note about any other data."""
    try:
        data = base64.b64decode(encoded, validate=True)
        image = image_of(data)
    except binascii.Error:
        return f"[{name}{kind}: it is damaged.]"
    except ToolError as error:
        return f"[{name}{error}]"
    return image or f"[{name}{kind or 'data'}, {show_size(len(data))}: it can't be shown.]"
