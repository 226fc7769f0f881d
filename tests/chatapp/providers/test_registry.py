import subprocess
import sys
from decimal import Decimal

import pytest
from django.contrib.auth.models import User

import condense
from chatapp.agent.errors import AgentError
from chatapp.agent.ports import Model
from chatapp.models import Profile
from chatapp.models.accounts import reached_by
from chatapp.providers import create_provider, provider_spec, provider_specs

MODEL = Model("m", context_window=1_000, max_output=100)


def test_every_name_gives_a_provider_that_retries() -> None:
    """A provider from the registry is wrapped, and answers as the model it was given."""
    for name in provider_specs():
        provider = create_provider(name, model=MODEL, api_key="k", base_url="")
        assert provider.attempts == 5
        assert provider.model is MODEL


def test_an_unknown_name_is_named() -> None:
    """The error says which names there are; rows that name one that is gone are shown."""
    with pytest.raises(AgentError, match="nobody'; there are anthropic, offline, openai"):
        create_provider("nobody", model=MODEL, api_key="", base_url="")
    assert provider_spec("gone").label == "gone"
    assert provider_spec("gone").models == ()


def test_the_sdk_is_not_imported_until_a_call_is_made() -> None:
    """Creating a provider costs no second of imports, and needs neither Django."""
    code = (
        "import sys\n"
        "from chatapp.agent.ports import Model\n"
        "from chatapp.providers import create_provider, provider_specs\n"
        "for name in provider_specs():\n"
        "    create_provider(name, model=Model('m', 1, 1), api_key='k', base_url='')\n"
        "print(sorted({'anthropic', 'django', 'openai', 'tiktoken'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_every_provider_and_model_is_usable_as_a_profile() -> None:
    """Unique names, room for a prompt, cheap cache reads; and what a first profile needs."""
    models = [model for spec in provider_specs().values() for model in spec.models]
    assert len({model.id for model in models}) == len(models)
    for model in models:
        assert 0 < model.max_output < model.context_window * 0.9
        prices = model.prices
        assert prices.cache_read <= prices.input <= prices.cache_write <= prices.output
    for spec in provider_specs().values():
        assert spec.models
        assert spec.first_profile
        assert not spec.needs_key or (spec.url and spec.key_variable)
        assert spec.find_model("nothing") is None


def test_known_prices_give_exact_costs() -> None:
    """A million tokens of each kind cost the sum of the prices; a long prompt five times."""
    model = provider_spec("anthropic").find_model("claude-opus-5-5")
    million = 1_000_000
    usage = condense.Usage(million, million, million, million)
    assert model.prices.cost(usage) == Decimal("29.20")
    model = provider_spec("anthropic").find_model("claude-haiku-5-5")
    assert model.context_window == 1_000_000
    short, long = (model.prices.cost(condense.Usage(count, 1_000)) for count in (100_000, 100_001))
    assert short == Decimal("0.0105")
    assert long == Decimal("0.05") + Decimal("0.0000005") + Decimal("0.0025")


@pytest.mark.parametrize(
    ("name", "copied", "base"),
    [
        ("anthropic", "https://x.org/v1/messages", "https://x.org"),
        ("anthropic", "https://x.org/api/v1/", "https://x.org/api"),
        ("anthropic", "https://x.org/v1/anthropic", "https://x.org/v1/anthropic"),
        ("openai", "https://x.org/v1/chat/completions", "https://x.org/v1"),
        ("openai", "https://x.org/v1/", "https://x.org/v1/"),
    ],
)
def test_an_address_may_be_copied_with_the_path_of_its_calls(
    alice: User, name: str, copied: str, base: str
) -> None:
    """It would else be there twice, which no server knows."""
    profile = Profile(owner=alice, provider=name, base_url=copied, model="m", context_window=9)
    assert reached_by(profile)["base_url"] == base
