"""Profiles: whose key is used, and what a call cost as far as somebody said."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

import condense
from chatapp.models import Profile
from chatapp.models.profiles import KeySource

OWN, NEAR = {"encrypted_key": "x"}, {"base_url": "http://127.0.0.1:9"}


def profile(provider: str = "anthropic", **columns: Any) -> Profile:
    """Return a profile that is not stored."""
    return Profile(provider=provider, context_window=200_000, **{"model": "m", **columns})


@pytest.mark.parametrize(
    ("made", "source"),
    [
        (profile(), KeySource.SERVER), (profile(**OWN), KeySource.OWN),
        (profile(**NEAR), KeySource.MISSING), (profile(**OWN, **NEAR), KeySource.OWN),
        (profile("offline"), KeySource.NOT_NEEDED), (profile(origin_id=1), KeySource.SERVER),
        (profile("gone"), KeySource.MISSING),
    ],
)  # fmt: skip
def test_the_servers_key_goes_to_the_providers_own_address_only(
    settings: Settings, made: Profile, source: KeySource
) -> None:
    """A user's address is never sent it."""
    settings.ANTHROPIC_API_KEY = "sk-server"
    assert made.key_source == source


@pytest.mark.parametrize(
    ("made", "cost"),
    [
        (profile(price_input=Decimal(3)), 3), (profile(), None), (profile("offline"), 0),
        (profile(price_output=Decimal(9)), 0),
    ],
)  # fmt: skip
def test_a_cost_is_unknown_where_nobody_named_a_price(made: Profile, cost: int | None) -> None:
    """Unless nothing is charged there, or the server says what it has charged."""
    usage = condense.Usage(input=1_000_000)
    assert made.cost_of(usage) == cost
    odd = replace(usage, terms={"odd": 1})
    assert made.cost_of(odd) == (None if made.prices.are_set else cost)
    assert made.cost_of(replace(odd, charged=Decimal("0.1"))) == Decimal("0.1")
