"""What the stand-in keeps of a request, and how it reads one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request


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
