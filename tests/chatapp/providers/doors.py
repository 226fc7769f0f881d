"""The vendors' doors to the stand-in, so that one test can be run over each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chatapp.agent.ports import Model, Provider
from chatapp.providers.anthropic.provider import AnthropicProvider
from chatapp.providers.openai.provider import OpenAIProvider
from tests.chatapp.providers.requests import SECRET_KEY
from tests.standin.server import Standin


@dataclass(frozen=True)
class Door:
    """A vendor's API: who speaks it, and where the stand-in answers it."""

    name: str
    model: str
    make: Callable[..., Provider]
    path: str = ""

    def url(self, standin: Standin) -> str:
        """Return the base URL of the stand-in for this vendor."""
        return standin.url + self.path

    def provider(self, standin: Standin, **more: Any) -> Provider:
        """Return a provider that talks to the stand-in through the real SDK."""
        given = {"api_key": SECRET_KEY, "base_url": self.url(standin), **more}
        return self.make(Model(self.model, 200_000, 1_000), **given)


DOORS = (
    Door("anthropic", "claude-opus-5-5", AnthropicProvider),
    Door("openai", "gpt-6.1-sol", OpenAIProvider, "/v1"),
)
