"""How a profile's rows become a provider: whose key goes where."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from chatapp.agent.errors import AgentError, ProviderError
from chatapp.models import Profile
from chatapp.models.accounts import provider_for
from tests.chatapp.providers.requests import listen, request
from tests.standin.server import Standin

SERVER_KEY, OWN_KEY = "sk-server-0123456789", "sk-own-0123456789"


@pytest.fixture
def servers(settings: LazySettings) -> Iterator[tuple[Standin, Standin]]:
    """The operator's gateway, with the server's key for it, and an address of a user's."""
    with Standin() as gateway, Standin() as own:
        settings.ANTHROPIC_BASE_URL, settings.ANTHROPIC_API_KEY = gateway.url, SERVER_KEY
        yield gateway, own


def profile(base_url: str = "", key: str = "") -> Profile:
    """Return a profile, which need not be stored."""
    made = Profile(
        owner=User(),
        provider="anthropic",
        model="claude-haiku-5-5",
        base_url=base_url,
        context_window=200_000,
        max_output=100,
    )
    made.set_key(key)
    return made


async def keys(asked: Profile, *standins: Standin) -> list[list[str]]:
    """Return the keys that each server got in one call, which may fail for want of one."""
    with suppress(ProviderError):
        await listen(provider_for(asked), request("Hi"))
    return [[sent.headers["x-api-key"] for sent in standin.requests] for standin in standins]


@pytest.mark.parametrize(
    ("at_own", "key", "expected"),
    [
        (False, "", [[SERVER_KEY], []]),
        (False, OWN_KEY, [[OWN_KEY], []]),
        (True, OWN_KEY, [[], [OWN_KEY]]),
        (True, "", [[], []]),
    ],
)
async def test_the_servers_key_goes_to_the_servers_address_only(
    servers: tuple[Standin, Standin], *, at_own: bool, key: str, expected: list[list[str]]
) -> None:
    """A user's address gets the user's key, or nothing."""
    url = servers[1].url if at_own else ""
    assert await keys(profile(url, key), *servers) == expected


async def test_a_users_private_address_needs_the_operators_word_at_each_call(
    servers: tuple[Standin, Standin], settings: LazySettings
) -> None:
    """Also where the profile was stored before; the operator's own gateway may be anywhere."""
    settings.ALLOW_PRIVATE_ADDRESSES = False
    gateway, own = servers
    with pytest.raises(ProviderError, match="operator has not allowed"):
        await listen(provider_for(profile(own.url, OWN_KEY)), request("Hi"))
    await listen(provider_for(profile()), request("Hi"))
    assert (len(gateway.requests), len(own.requests)) == (1, 0)


def test_a_known_models_surcharge_is_part_of_its_price() -> None:
    """Its own prices, the catalogue's surcharge; a provider that is gone is said to be."""
    asked = profile()
    assert provider_for(asked).model.prices.surcharge is not None
    asked.model = "claude-opus-5-5"
    assert provider_for(asked).model.prices.surcharge is None
    asked = Profile(provider="gone", model="m", context_window=9, max_output=1)
    with pytest.raises(AgentError, match="no provider 'gone'"):
        provider_for(asked)
