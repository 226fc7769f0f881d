"""A port for those who watch over a process that serves no pages: a worker's."""

import asyncio
import logging
from http import HTTPStatus

from django.conf import settings

from chatapp.environment import BadEnvironment
from chatapp.maintenance.monitoring import Answer, Process, answer
from chatapp.models.database import reading

log = logging.getLogger(__name__)

# Bytes of a question, and seconds that it may take to arrive.
LARGEST, PATIENCE = 8_192, 10


async def serve_monitoring(process: Process) -> asyncio.Server | None:
    """Answer at HOST and WORKER_PORT until the server that is returned is closed; None without one.

    Raises BadEnvironment where it can't listen.
    """
    if not settings.WORKER_PORT:
        return None

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                question = await reader.readuntil(b"\r\n\r\n")
            said = await _answer(question.decode("latin-1"), process)
            writer.write(_written(said))
            await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            log.debug("a question was not asked to its end")
        finally:
            writer.close()

    try:
        return await asyncio.start_server(
            respond, settings.HOST, settings.WORKER_PORT, limit=LARGEST
        )
    except OSError as error:
        raise BadEnvironment(
            f"Cannot listen on {settings.HOST} port {settings.WORKER_PORT}: {error.strerror}. Set "
            "WORKER_PORT to another value, or leave it out."
        ) from error


async def _answer(question: str, process: Process) -> Answer:
    first, *lines = question.split("\r\n")
    method, _space, rest = first.partition(" ")
    if method != "GET":
        return Answer("Only GET is answered.", 405, headers={"Allow": "GET"})
    headers = {
        name.lower(): one.strip() for name, _, one in (line.partition(":") for line in lines)
    }
    path = rest.partition(" ")[0].partition("?")[0]
    try:
        return await reading(answer)(path, headers.get("authorization", ""), process)
    except Exception:
        log.exception("a question about this process could not be answered")
        return Answer("The process can't tell.", 500)


def _written(said: Answer) -> bytes:
    body = said.text.encode()
    headers = {
        **said.headers,
        "Content-Type": said.content_type,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "Connection": "close",
    }
    lines = [f"HTTP/1.1 {said.status} {HTTPStatus(said.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
