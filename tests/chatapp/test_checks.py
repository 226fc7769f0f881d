"""System checks: wrong combinations have an id and a way out."""

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from chatapp.project.network import tls


def found() -> list[str | None]:
    """Return the ids of what our checks complain about."""
    messages = run_checks(tags=["palimpsest"])
    assert all(message.hint for message in messages)
    return [message.id for message in messages]


HERE = Path(__file__)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, None),
        ({"DATA_DIR": HERE / "data"}, "E001"),
        ({"DEBUG": True}, None),
        ({"DEBUG": True, "HOST": "192.0.2.1"}, "E002"),
        *(
            ({"ANTHROPIC_BASE_URL": url}, "E003")
            for url in (
                "ftp://example.org",
                "example.org",
                "https://",
                "http//x",
                "http://x:y",
                "http://a:b@x",
                "http://x?y",
            )
        ),
        ({"ANTHROPIC_BASE_URL": "http://localhost:9000"}, None),
        ({"ANTHROPIC_BASE_URL": "https://llm.example.org/v1"}, None),
        *(
            ({"CONDENSE_STRATEGY": name}, "E004")
            for name in ("fresh_strat", "no.such.Strategy", "condense.strategies.Nothing")
        ),
        ({"CONDENSE_HOOKS": "no.such.hooks"}, "E005"),
        ({"CONDENSE_HOOKS": "condense.Hooks"}, "E005"),
        *(
            ({"CONDENSE_CONFIGURATION": path}, "E006")
            for path in ("no.such.change", "condense.ladder_from", "builtins.repr")
        ),
        ({"CONDENSE_CONFIGURATION": "dataclasses.replace"}, None),
        ({"HOST": "::", "ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]", "::"]}, "W001"),
        ({"HOST": "::", "ALLOWED_HOSTS": ["chat.example.org"]}, None),
        ({"BEHIND_TLS": True}, "W002"),
        ({"CSRF_TRUSTED_ORIGINS": ["https://chat.example.org"]}, "W002"),
        ({"REDIS_URL": "redis://localhost"}, "E007"),
        ({"BEHIND_TLS": True, "TRUSTED_PROXIES": [ip_network("127.0.0.1")]}, None),
    ],
)
def test_what_cannot_work_is_named_before_the_first_message(
    settings: Settings, changed: dict[str, Any], expected: str | None
) -> None:
    """A fresh checkout, and what works, raises no complaint."""
    for name, value in changed.items():
        setattr(settings, name, value)
    assert found() == ([f"palimpsest.{expected}"] if expected else [])


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("HTTPS_PROXY", "http://user:p%20w@proxy.example.org:3128", None),
        ("HTTP_PROXY", "proxy.example.org:3128", None),
        ("https_proxy", "socks5://proxy.example.org", "E003"),
        ("ALL_PROXY", "http://proxy.example.org:port", "E003"),
        ("SSL_CERT_FILE", f"{HERE.parent / 'nothing.pem'}", "E020"),
        ("SSL_CERT_FILE", f"{HERE}", "E020"),
    ],
)
def test_a_network_that_cannot_be_reached_is_named(
    name: str, value: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a proxy that is none, or without the certificates that are to be trusted."""
    monkeypatch.setenv(name, value)
    tls.cache_clear()
    assert {*found()} == ({f"palimpsest.{expected}"} if expected else set())


def test_what_a_function_of_the_operators_said_is_told(settings: Settings) -> None:
    """Its own words say what is to be mended."""
    settings.CONDENSE_CONFIGURATION = "builtins.int"
    (message,) = run_checks(tags=["palimpsest"])
    assert "int() argument must be" in message.msg


@pytest.mark.parametrize(("missing", "number"), [("SECRET_KEY", "E008"), ("SEAL_KEY", "E009")])
def test_processes_on_several_machines_are_given_their_keys(
    missing: str, number: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each machine would make its own, and one could read nothing of the other's."""
    for name in ("SECRET_KEY", "SEAL_KEY"):
        monkeypatch.setenv(name, "" if name == missing else "given")
    assert found() == []
    settings.CLUSTER = True
    assert found() == [f"palimpsest.{number}"]
