"""Servers that are commands: they run as the agent's do, and speak over their input and output."""

import asyncio
import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.shared.message import SessionMessage

from chatapp.tools.long_outputs import plain
from chatapp.tools.mcp.servers import MAX_ANSWER, MAX_MESSAGE, TOO_MUCH, Server
from chatapp.tools.shell import PATIENCE, clear_up, environment, supervised

# Seconds that a server may run, and that it has to end by itself.
LONGEST, TO_END = 86_400, 2.0
# Bytes of the end of what it writes to its standard error, where it says what is wrong.
LAST_WORDS = 1_000

_CHUNK = 65_536

# Its variables and its command come first on its input: no list of processes shows them there, and
# nothing of them has a say outside of the sandbox.
_BEGIN = 'IFS= read -r line; eval "$line"'


class CommandTransport:
    """The SDK's transport to a command; ``problem`` says why it has ended."""

    def __init__(self, server: Server, root: Path) -> None:
        """Run nothing yet."""
        self.problem = ""
        self.ended = asyncio.Event()
        self._server = server
        self._root = root
        self._last_words = b""
        self._received = 0
        self._lifeline = -1
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: TaskGroup = anyio.create_task_group()
        self._reading: Any = None

    async def __aenter__(self) -> Any:
        """Return the streams to and from the command, which runs from now on."""
        self._process = process = await self._start()
        inbound, self._reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        writing, outbound = anyio.create_memory_object_stream[SessionMessage](0)
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._read, process, inbound)
        self._tasks.start_soon(self._write, process, outbound)
        self._tasks.start_soon(self._listen, process)
        self._tasks.start_soon(clear_up, process)
        return self._reading, writing

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """End the command, and all that it has started."""
        self._reading.close()
        with anyio.CancelScope(shield=True):
            await self._end()
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    async def _start(self) -> asyncio.subprocess.Process:
        reading, self._lifeline = os.pipe()
        try:
            supervising = await asyncio.to_thread(supervised, self._root, LONGEST, lifeline=reading)
            process = await asyncio.create_subprocess_exec(
                *supervising,
                _BEGIN,
                cwd=self._root,
                env=environment(self._root),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(reading,),
                start_new_session=True,
                limit=MAX_MESSAGE,
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(reading)
        assert process.stdin  # noqa: S101 - it was asked for
        process.stdin.write("".join(self._begin()).encode())
        return process

    def _begin(self) -> Iterator[str]:
        for name, value in self._server.secrets:
            yield f"export {name}={shlex.quote(value)}; "
        yield f"{self._server.address}\n"

    async def _end(self) -> None:
        process = self._process
        assert process  # noqa: S101 - it was started
        assert process.stdin  # noqa: S101 - it was asked for
        process.stdin.close()
        with anyio.move_on_after(TO_END):
            await process.wait()
        os.close(self._lifeline)
        with anyio.move_on_after(PATIENCE):
            await process.wait()
        said = plain(self._last_words).strip()
        if not self.problem:
            self.problem = f"It has ended with exit code {process.returncode}."
        if said:
            self.problem += f" It said last: {said}"

    async def _read(self, process: asyncio.subprocess.Process, inbound: Any) -> None:
        """Pass its messages on, until it ends or sends too much."""
        assert process.stdout  # noqa: S101 - it was asked for
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with inbound:
                while line := await self._line(process.stdout):
                    await self._pass_on(line, inbound)
        self.ended.set()
        # Its end is not noticed while something is left to be read.
        while await process.stdout.read(_CHUNK):
            pass

    async def _pass_on(self, line: bytes, inbound: Any) -> None:
        """Pass a message on; what is none is passed over, as servers print all kinds of things."""
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            return
        await inbound.send(SessionMessage(message))

    async def _line(self, stdout: asyncio.StreamReader) -> bytes:
        try:
            line = await stdout.readline()
        except ValueError:
            self.problem = TOO_MUCH
            return b""
        self._received += len(line)
        if self._received > MAX_ANSWER:
            self.problem = TOO_MUCH
            return b""
        return line

    async def _write(self, process: asyncio.subprocess.Process, outbound: Any) -> None:
        assert process.stdin  # noqa: S101 - it was asked for
        async with outbound:
            async for sent in outbound:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                self._received = 0
                try:
                    process.stdin.write(text.encode(errors="replace") + b"\n")
                    await process.stdin.drain()
                except OSError:
                    return

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Keep the end of what it complains of."""
        assert process.stderr  # noqa: S101 - it was asked for
        while chunk := await process.stderr.read(LAST_WORDS):
            self._last_words = (self._last_words + chunk)[-LAST_WORDS:]
