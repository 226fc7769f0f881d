"""The SDK's transports to servers: to an address that was checked, or to a command's pipes.

A server at an address is called at the checked target of that, and read within limits. A command
runs as the agent's do, and speaks over its input and output.
"""

import asyncio
import contextlib
import os
import shlex
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from chatapp.agent.errors import ServerFailed
from chatapp.project.network import AddressRefused, Guard
from chatapp.tools.long_outputs import plain
from chatapp.tools.mcp.servers import MAX_ANSWER, MAX_MESSAGE, TOO_MUCH, Server
from chatapp.tools.shell import SUPERVISOR_SECONDS, clear_up, start_supervised
from condense import noop, say

# Seconds to be connected, and for an answer that says nothing; a call has a time of its own.
CONNECT, READ = 10.0, 1_800.0

_NO_ENTRY = frozenset({401, 403, 407})
_PLAIN = "identity"


# Seconds that a server may run, and that it has to end by itself.
LONGEST, TO_END = 86_400, 2.0
# Bytes of the end of a server's standard error, which explains a failure.
LAST_WORDS = 1_000

_CHUNK = 65_536

# Its variables and its command come first on its input: no list of processes shows them there, and
# nothing of them has a say outside of the sandbox.
_BEGIN = 'IFS= read -r line; eval "$line"'


class WebTransport:
    """The SDK's transport to an address; ``problem`` is its reason for a refusal."""

    def __init__(self, server: Server, guard: Guard) -> None:
        self.problem = ""
        self.ended = asyncio.Event()
        self._server = server
        self._guard = guard
        self._open = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Any:
        """Return the streams to and from the server; raise ServerFailed for a refused address."""
        try:
            transport = await self._guard.transport(self._server.address)
        except AddressRefused as error:
            raise ServerFailed(str(error)) from error
        except OSError as error:
            raise ServerFailed(noop("There is no server of this name.")) from error
        client = httpx2.AsyncClient(
            transport=transport,
            # A packed answer could be of any size.
            headers={**dict(self._server.secrets), "Accept-Encoding": _PLAIN},
            timeout=httpx2.Timeout(CONNECT, read=READ),
            trust_env=False,
            event_hooks={"response": [self._limit]},
        )
        await self._open.enter_async_context(client)
        streams = streamable_http_client(
            self._server.address, http_client=client, max_sse_event_size=MAX_MESSAGE
        )
        return await self._open.enter_async_context(streams)

    async def __aexit__(self, *error: Any) -> bool | None:  # noqa: PYI036 - it is passed on
        return await self._open.__aexit__(*error)

    async def _limit(self, response: httpx2.Response) -> None:
        """Pass a response on, up to a size."""
        if response.status_code in _NO_ENTRY:
            said = noop("It answers with HTTP {status}. Check the headers.")
            raise self._refuse(said.format(status=response.status_code))
        if response.headers.get("content-encoding", _PLAIN) != _PLAIN:
            raise self._refuse(noop("It answers in an encoding that it was not asked for."))
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - it is an answer
        # A stream is many messages, anything else one, which is read at once.
        kind = response.headers.get("content-type", "").lower()
        most = MAX_ANSWER if kind.startswith("text/event-stream") else MAX_MESSAGE
        response.stream = _Counted(response.stream, most, self._refuse)

    def _refuse(self, problem: str) -> ServerFailed:
        self.problem = problem
        return ServerFailed(problem)


@dataclass(eq=False)
class _Counted(httpx2.AsyncByteStream):
    """A body up to the most that a server may send."""

    inner: httpx2.AsyncByteStream
    most: int
    refuse: Callable[[str], ServerFailed]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self.inner:
            size += len(chunk)
            if size > self.most:
                raise self.refuse(TOO_MUCH)
            yield chunk

    async def aclose(self) -> None:
        await self.inner.aclose()


class CommandTransport:
    """The SDK's transport to a command; ``problem`` is the reason of its end."""

    def __init__(self, server: Server, root: Path) -> None:
        self.problem = ""
        self.ended = asyncio.Event()
        self._server = server
        self._root = root
        self._last_words = b""
        self._received = 0
        self._lifeline = -1
        self._process: asyncio.subprocess.Process | None = None
        self._clearing: asyncio.Task[None] | None = None
        self._tasks: TaskGroup = anyio.create_task_group()
        self._reading: Any = None

    async def __aenter__(self) -> Any:
        """Return the streams to and from the command, which runs from now on."""
        self._process = process = await self._start()
        self._clearing = asyncio.create_task(clear_up(process))
        inbound, self._reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writing, outbound = anyio.create_memory_object_stream[SessionMessage](0)
        await self._tasks.__aenter__()
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - asked for
        self._tasks.start_soon(self._read, process.stdout, inbound)
        self._tasks.start_soon(self._write, process.stdin, outbound)
        self._tasks.start_soon(self._listen, process.stderr)
        return self._reading, writing

    async def __aexit__(self, *error: Any) -> bool | None:  # noqa: PYI036 - it is passed on
        """End the command and its processes."""
        self._reading.close()
        process = self._process
        assert process and process.stdin and self._clearing  # noqa: S101, PT018 - it was started
        with anyio.CancelScope(shield=True):
            process.stdin.close()
            with anyio.move_on_after(TO_END):
                await process.wait()
            os.close(self._lifeline)
            with anyio.move_on_after(SUPERVISOR_SECONDS):
                await process.wait()
            if process.returncode is None:
                process.kill()
            await self._clearing
        if not self.problem:
            self.problem = say("It has ended with exit code {code}.", code=process.returncode)
        if said := plain(self._last_words).strip():
            problem = self.problem
            self.problem = say("{problem} It said last: {said}", problem=problem, said=said)
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(*error)

    async def _start(self) -> asyncio.subprocess.Process:
        reading, self._lifeline = os.pipe()
        try:
            process = await start_supervised(
                self._root,
                _BEGIN,
                LONGEST,
                lifeline=reading,
                stderr=asyncio.subprocess.PIPE,
                limit=MAX_MESSAGE,
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(reading)
        assert process.stdin  # noqa: S101 - it was asked for
        exports = [f"export {name}={shlex.quote(value)}; " for name, value in self._server.secrets]
        process.stdin.write(f"{''.join(exports)}{self._server.address}\n".encode())
        return process

    async def _read(self, stdout: asyncio.StreamReader, inbound: Any) -> None:
        """Pass its messages on, until it ends or sends too much.

        Other lines are skipped, as servers print all kinds of things.
        """
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with inbound:
                while line := await self._line(stdout):
                    with contextlib.suppress(ValueError):
                        said = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                        await inbound.send(SessionMessage(said))
        self.ended.set()
        # The end of the process is not noticed while output is left to be read.
        while await stdout.read(_CHUNK):
            pass

    async def _line(self, stdout: asyncio.StreamReader) -> bytes:
        line = b""
        with contextlib.suppress(ValueError):
            line = await stdout.readline()
            self._received += len(line)
            if self._received <= MAX_ANSWER:
                return line
        self.problem = TOO_MUCH
        return b""

    async def _write(self, stdin: asyncio.StreamWriter, outbound: Any) -> None:
        async with outbound:
            async for sent in outbound:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._received = 0
                try:
                    stdin.write(text.encode(errors="replace") + b"\n")
                    await stdin.drain()
                except OSError:
                    return

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        """Keep the end of the server's stderr."""
        while chunk := await stderr.read(LAST_WORDS):
            self._last_words = (self._last_words + chunk)[-LAST_WORDS:]
