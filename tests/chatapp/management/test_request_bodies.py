"""A request's body reaches the application in pieces, when it asks for them."""

import io
from typing import Any

import pytest

from chatapp.management.request_bodies import BODY_PIECE, BodyReader, Message

DISCONNECT = {"type": "http.disconnect"}


class Client:
    """A connection on which these messages come."""

    def __init__(self, *messages: Message) -> None:
        self.messages = [*messages]

    async def receive(self) -> Message:
        """Return the next one."""
        return self.messages.pop(0)


class Request:
    """What Daphne knows of a request: the file with its body."""

    def __init__(self, body: bytes) -> None:
        self.content = io.BytesIO(body)


async def read(body: bytes, *messages: Message) -> tuple[list[Message], list[int]]:
    """Return what an application receives, and how much of the body was read by then."""
    received: list[Message] = []
    places: list[int] = []
    request, scope = Request(body), dict[str, Any]()
    file = request.content
    BodyReader.take(request, scope)
    assert request.content.read() == b""

    async def application(_scope: Any, receive: Any, _send: Any) -> None:
        while not received or received[-1] != DISCONNECT:
            received.append(await receive())
            places.append(len(body) if file.closed else file.tell())

    await BodyReader(application)(scope, Client(*messages).receive, None)
    return received, places


@pytest.mark.parametrize("size", [0, 1, BODY_PIECE, 3 * BODY_PIECE, 3 * BODY_PIECE + 1])
async def test_a_body_comes_in_pieces_and_no_faster_than_it_is_asked_for(size: int) -> None:
    """Whole, and what the connection says afterwards follows it."""
    received, places = await read(bytes(size), {"type": "http.request", "body": b""}, DISCONNECT)
    *pieces, last = received
    assert last == DISCONNECT
    assert b"".join(one["body"] for one in pieces) == bytes(size)
    assert [one["more_body"] for one in pieces] == [True] * (len(pieces) - 1) + [False]
    assert places[:-1] == [min(size, BODY_PIECE * number) for number in range(1, len(pieces) + 1)]


async def test_nothing_is_read_for_a_client_that_is_gone() -> None:
    """It left before the application began."""
    assert await read(b"abc", DISCONNECT) == ([DISCONNECT], [0])
