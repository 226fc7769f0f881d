"""What tests of providers share: a request, a model, and a server to reach."""

import pytest

from chatapp.agent.ports import Model
from chatapp.providers.anthropic.provider import AnthropicProvider
from tests.chatapp.providers.requests import SECRET_KEY
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]


@pytest.fixture
def claude(anthropic_standin: Standin) -> AnthropicProvider:
    """A provider that talks to the stand-in through the real SDK."""
    model = Model("claude-opus-5-5", context_window=200_000, max_output=1_000)
    return AnthropicProvider(model, api_key=SECRET_KEY, base_url=anthropic_standin.url)
