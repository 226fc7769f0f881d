import subprocess
import sys
from decimal import Decimal

import pytest

import condense
from chatapp.agent.ports import Model
from chatapp.providers import UnknownProvider, catalog, create_provider, provider_names
from chatapp.providers.retrying import Retrying

MODEL = Model("m", context_window=1_000, max_output=100)


@pytest.mark.parametrize("name", provider_names())
def test_every_name_gives_a_provider_that_retries(name: str) -> None:
    """A provider from the registry is wrapped, and answers as the model it was given."""
    provider = create_provider(name, model=MODEL, api_key="k", base_url="")
    assert isinstance(provider, Retrying)
    assert provider.model is MODEL


def test_an_unknown_name_is_named() -> None:
    """The error says which names there are."""
    with pytest.raises(UnknownProvider, match="no provider 'nobody'; there are anthropic, offline"):
        create_provider("nobody", model=MODEL, api_key="", base_url="")


def test_the_sdk_is_not_imported_until_a_call_is_made() -> None:
    """Creating a provider costs no second of imports, and needs neither Django."""
    code = (
        "import sys\n"
        "from chatapp.agent.ports import Model\n"
        "from chatapp.providers import create_provider\n"
        "for name in ('anthropic', 'offline'):\n"
        "    create_provider(name, model=Model('m', 1, 1), api_key='k', base_url='')\n"
        "print(sorted({'anthropic', 'django', 'tiktoken'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_every_entry_of_the_catalog_is_usable_as_a_profile() -> None:
    """Names are unique, the reply leaves room for a prompt, cache reads are the cheapest."""
    assert len({entry.model for entry in catalog.MODELS}) == len(catalog.MODELS)
    for entry in catalog.MODELS:
        assert entry.provider in provider_names()
        assert 0 < entry.max_output < entry.context_window * 0.9
        prices = entry.prices
        assert prices.cache_read <= prices.input <= prices.cache_write <= prices.output


def test_the_catalog_prices_calls_exactly() -> None:
    """A million tokens of each kind cost the sum of the four prices."""
    entry = catalog.find("claude-opus-5-5")
    assert entry is not None
    million = 1_000_000
    usage = condense.Usage(million, million, million, million)
    assert entry.prices.cost(usage) == Decimal("29.20")


def test_every_provider_has_a_default_model() -> None:
    """A new profile can be filled in for each provider; unknown models are simply not known."""
    assert catalog.default_for("offline").prices == condense.Prices()
    assert catalog.default_for("anthropic").model.startswith("claude-")
    assert catalog.find("claude-nothing") is None
