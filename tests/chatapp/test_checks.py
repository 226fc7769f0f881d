"""System checks: wrong combinations have an id and a way out."""

from ipaddress import ip_network
from pathlib import Path

import pytest
from django.core.checks import run_checks
from pytest_django import Settings


def found() -> list[str | None]:
    """Return the ids of what our checks complain about."""
    messages = run_checks(tags=["palimpsest"])
    assert all(message.hint for message in messages)
    return [message.id for message in messages]


def test_the_defaults_are_fine() -> None:
    """A fresh checkout raises no complaint."""
    assert found() == []


def test_a_read_only_folder_is_an_error(settings: Settings, tmp_path: Path) -> None:
    """Nothing works without a place for the database."""
    (tmp_path / "file").touch()
    settings.DATA_DIR = tmp_path / "file" / "data"
    assert found() == ["palimpsest.E001"]


def test_debug_is_for_this_machine_only(settings: Settings) -> None:
    """Error pages with settings are not for the network."""
    settings.DEBUG = True
    assert found() == []
    settings.HOST = "192.0.2.1"
    assert found() == ["palimpsest.E002"]


@pytest.mark.parametrize("url", ["ftp://example.org", "example.org", "https://", "http//x"])
def test_a_base_url_must_be_http(settings: Settings, url: str) -> None:
    """An address without a scheme would fail at the first message only."""
    settings.ANTHROPIC_BASE_URL = url
    assert found() == ["palimpsest.E003"]


@pytest.mark.parametrize("url", ["http://localhost:9000", "https://llm.example.org/v1"])
def test_a_base_url_may_be_any_http_address(settings: Settings, url: str) -> None:
    """Gateways and local servers are as good as the vendor's own address."""
    settings.ANTHROPIC_BASE_URL = url
    assert found() == []


def test_listening_to_the_network_needs_a_name(settings: Settings) -> None:
    """Otherwise everyone who comes over the network is turned away."""
    settings.HOST = "0.0.0.0"  # noqa: S104 - only a setting, nothing is bound
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"]  # noqa: S104
    assert found() == ["palimpsest.W001"]
    settings.ALLOWED_HOSTS = ["chat.example.org"]
    assert found() == []


def test_a_proxy_should_be_named(settings: Settings) -> None:
    """Otherwise one who guesses at passwords behind it holds everybody back."""
    settings.CSRF_TRUSTED_ORIGINS = ["https://chat.example.org"]
    assert found() == ["palimpsest.W002"]
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.1")]
    assert found() == []


@pytest.mark.parametrize("name", ["fresh_strat", "no.such.Strategy", "condense.strategies.Nothing"])
def test_a_strategy_must_exist(settings: Settings, name: str) -> None:
    """A typo would fail at the first message only."""
    settings.CONDENSE_STRATEGY = name
    assert found() == ["palimpsest.E004"]


@pytest.mark.parametrize("path", ["no.such.change", "condense.ladder_from", "builtins.repr"])
def test_what_changes_the_configuration_must_return_one(settings: Settings, path: str) -> None:
    """It is tried before the first page asks it."""
    settings.CONDENSE_CONFIGURATION = path
    assert found() == ["palimpsest.E006"]
    settings.CONDENSE_CONFIGURATION = "dataclasses.replace"
    assert found() == []


@pytest.mark.parametrize("path", ["no.such.hooks", "condense.Hooks"])
def test_hooks_must_be_an_object_of_hooks(settings: Settings, path: str) -> None:
    """The class is not yet one."""
    settings.CONDENSE_HOOKS = path
    assert found() == ["palimpsest.E005"]
