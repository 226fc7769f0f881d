"""What tests of providers share: a request, a model, and a server to reach."""

from collections.abc import Iterator

import pytest

from chatapp.agent.ports import Provider
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.openai.provider import OpenAIProvider
from tests.chatapp.providers.doors import DOORS, Door, claude_of
from tests.standin.server import Standin


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A strict server that speaks the vendors' APIs, on a port of its own."""
    with Standin() as server:
        yield server


@pytest.fixture
def claude(standin: Standin) -> AnthropicProvider:
    """A provider that talks to the stand-in through the real SDK."""
    return claude_of(standin)


@pytest.fixture
def gpt(standin: Standin) -> OpenAIProvider:
    """Another, through the other door."""
    provider = DOORS[1].provider(standin)
    assert isinstance(provider, OpenAIProvider)
    return provider


@pytest.fixture(params=DOORS, ids=lambda door: door.name)
def door(request: pytest.FixtureRequest) -> Door:
    """Each vendor's door in turn."""
    found: Door = request.param
    return found


@pytest.fixture
def provider(door: Door, standin: Standin) -> Provider:
    """A provider behind the door."""
    return door.provider(standin)
