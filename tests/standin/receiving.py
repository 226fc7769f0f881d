"""Requests as the stand-in reads and keeps them, and streams as it writes them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.standin.behaviours import Answer, Gate, Raw, Rest


class ConnectionCut(Exception):
    """Ends a response in the middle, as a broken line does."""


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived, and why it was refused, if it was.

    ``line`` is the port at the other end of the connection it came by.
    """

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    problems: tuple[str, ...] = ()
    raw: bytes = b""
    line: int = 0


async def received(request: Request, body: Mapping[str, Any], problems: list[str]) -> Received:
    """Return a request as it is kept."""
    headers, raw = dict(request.headers), await request.body()
    line = request.client.port if request.client else 0
    return Received(request.url.path, body, headers, tuple(problems), raw, line)


async def read_json(request: Request) -> tuple[dict[str, Any], list[str]]:
    """Return the body and why it is no JSON: as in the real API, not NaN nor half a surrogate."""
    try:
        body = json.loads(await request.body(), parse_constant=_refuse)
        json.dumps(body, ensure_ascii=False).encode()
    except ValueError as error:
        return {}, [f"The request body is not valid JSON: {error}"]
    return (body, []) if isinstance(body, dict) else ({}, ["Input should be an object"])


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def key_of(request: Request) -> str:
    """Return the API key from either header that the APIs read."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    return request.headers.get("x-api-key") or bearer.strip()


def send(answer: Answer) -> Response:
    """Return a response of the bytes of a test, in its chunks."""

    async def chunks() -> AsyncIterator[bytes]:
        for chunk in answer.chunks:
            yield chunk
            await asyncio.sleep(0)

    kind = {"content-type": answer.kind} if answer.kind else {}
    return StreamingResponse(chunks(), answer.status, {**kind, **answer.headers})


async def stream(
    events: Iterable[dict[str, Any] | Gate | Raw | Rest], write: Callable[[dict[str, Any]], str]
) -> AsyncIterator[str]:
    """Yield what is sent of a reply; at a gate it waits, and at a "cut" the connection ends."""
    for event in events:
        if isinstance(event, Gate):
            await asyncio.to_thread(event.pass_through)
        elif isinstance(event, Raw):
            yield event.text
        elif isinstance(event, Rest):
            await asyncio.sleep(event.seconds)
        elif event.get("type") == "cut":
            raise ConnectionCut
        else:
            yield write(event)
