"""The vendors' doors to the stand-in, so that one test can be run over each.

An SDK is imported with its first provider: it takes a second, for which no other test waits.
"""

import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chatapp.agent.ports import Model, Provider
from chatapp.providers import create_provider, provider_spec
from chatapp.providers.resilient_provider import ResilientProvider
from tests.chatapp.providers.requests import SECRET_KEY
from tests.standin.server import Standin

if TYPE_CHECKING:
    from chatapp.providers.anthropic.provider import AnthropicProvider


@dataclass(frozen=True)
class Door:
    """A vendor's API, and the path at which the stand-in answers it."""

    name: str
    model: str
    path: str = ""

    def make(self, model: Model, **given: Any) -> Any:
        """Return the vendor's provider."""
        return pkgutil.resolve_name(provider_spec(self.name).factory)(model, **given)

    def url(self, standin: Standin) -> str:
        """Return the base URL of the stand-in for this vendor."""
        return standin.url + self.path

    def provider(self, standin: Standin, **more: Any) -> Provider:
        """Return a provider that talks to the stand-in through the real SDK."""
        given = {"api_key": SECRET_KEY, "base_url": self.url(standin), **more}
        provider: Provider = self.make(Model(self.model, 200_000, 1_000), **given)
        return provider

    def resilient(self, standin: Standin, attempts: int = 5) -> ResilientProvider:
        """Return a provider as profiles have it, whose calls are made so often at most."""
        return create_provider(
            self.name,
            model=Model(self.model, 200_000, 1_000),
            api_key=SECRET_KEY,
            base_url=self.url(standin),
            attempts=attempts,
        )


DOORS = (
    Door("anthropic", "claude-opus-5-5"),
    Door("openai", "gpt-6.1-sol", "/v1"),
)


def claude_of(
    standin: Standin, name: str = DOORS[0].model, most: int = 1_000, **more: Any
) -> "AnthropicProvider":
    """Return a provider of one of Anthropic's models, which talks to the stand-in."""
    model = Model(name, 200_000, most, **more)
    given = {"api_key": SECRET_KEY, "base_url": standin.url}
    provider: AnthropicProvider = DOORS[0].make(model, **given)
    return provider
