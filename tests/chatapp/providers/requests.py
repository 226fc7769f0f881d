"""Short ways to write requests and to listen to replies."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ProviderError
from chatapp.agent.ports import ModelRequest, Provider, Purpose, ToolSpec
from tests.standin.behaviours import Gate

ABOUT_THE_CALL = (events.SentRequest, events.CallDescribed)
SECRET_KEY = "sk-secret-0123456789"
TOOLS = tuple(
    ToolSpec(name, f"The tool {name}.", {"type": "object", "properties": {}})
    for name in ("list_files", "read_file", "search_files")
)


def _block(one: Any) -> condense.Block:
    return condense.TextBlock(one) if isinstance(one, str) else one


def user(*content: Any) -> condense.Message:
    """Return a user's message of texts and blocks."""
    return condense.Message("user", tuple(map(_block, content)))


def assistant(*content: Any) -> condense.Message:
    """Return a reply of texts and blocks."""
    return condense.Message("assistant", tuple(map(_block, content)))


def call(name: str, id_: str = "call_1", **input_: Any) -> condense.ToolUseBlock:
    """Return a tool call."""
    return condense.ToolUseBlock(id_, name, input_)


def result(text: str, id_: str = "call_1", *, is_error: bool = False) -> condense.ToolResultBlock:
    """Return a tool's answer."""
    return condense.ToolResultBlock(id_, text, is_error)


def request(
    *messages: condense.Message | str,
    system: str = "You are kind.",
    tools: Sequence[ToolSpec] = (),
    purpose: Purpose = Purpose.CHAT,
) -> ModelRequest:
    """Return a request; texts are the user's messages."""
    written = tuple(user(one) if isinstance(one, str) else one for one in messages)
    return ModelRequest(system, written, tuple(tools), purpose)


async def stream(provider: Provider, asked: ModelRequest) -> AsyncIterator[events.StreamEvent]:
    """Yield what one call tells of its reply, and not what it tells of itself."""
    async for event in provider.stream(asked):
        if not isinstance(event, ABOUT_THE_CALL):
            yield event


async def listen(provider: Provider, asked: ModelRequest) -> list[events.StreamEvent]:
    """Return what one call tells of its reply."""
    return [event async for event in stream(provider, asked)]


async def record(
    provider: Provider, asked: ModelRequest
) -> tuple[list[events.SentRequest], dict[str, Any]]:
    """Return what one call tells of itself, also where it fails: what was sent, and its facts."""
    sent: list[events.SentRequest] = []
    facts: dict[str, Any] = {}
    with suppress(ProviderError):
        async for event in provider.stream(asked):
            match event:
                case events.SentRequest():
                    sent.append(event)
                case events.CallDescribed(told):
                    facts |= told
    return sent, facts


async def read_on(provider: Provider, asked: ModelRequest, read: Gate) -> None:
    """Open the gate once the first words were read, and read on to the end.

    What came with a line's end is not always read: it is lost with the line.
    """
    async for event in provider.stream(asked):
        if isinstance(event, events.TextStreamed):
            read.open()


async def reply(provider: Provider, asked: ModelRequest) -> events.ReplyCompleted:
    """Return the event that ends a call, having checked that it does."""
    *_, last = await listen(provider, asked)
    assert isinstance(last, events.ReplyCompleted)
    return last


GREETING = ModelRequest("You are kind.", (user("Hi"),))


async def failure(
    provider: Provider, asked: ModelRequest = GREETING, *, match: str | None = None
) -> ProviderError:
    """Return the error that a call ends with, whose words ``match``."""
    with pytest.raises(ProviderError, match=match) as caught:
        await listen(provider, asked)
    return caught.value


def text_of(content: Sequence[condense.Block]) -> str:
    """Return the texts of a reply."""
    return condense.Message("assistant", tuple(content)).text
