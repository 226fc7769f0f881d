"""Trying a profile's server, and being offered one that runs on this machine."""

import re
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.accounts import accounts
from chatapp.models import Profile
from chatapp.providers.model_servers import LocalServer
from chatapp.providers.specs import ListedModel, Preset
from chatapp.views import profiles
from tests.chatapp.test_forms import PROFILE
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]

OLLAMA = Preset("Ollama", "http://localhost:11434/v1", is_local=True)


@pytest.fixture
def owner(alice: User, settings: LazySettings) -> User:
    """The only user, on a server that nobody else can reach."""
    settings.ALLOW_PRIVATE_ADDRESSES = True
    alice.is_superuser = True
    alice.save()
    return alice


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A model on this machine; how often it was looked for."""
    looked: list[int] = []

    async def find() -> list[LocalServer]:
        looked.append(1)
        return [LocalServer("openai", OLLAMA, (ListedModel("llama<3", 16_384),))]

    monkeypatch.setattr(profiles, "find_local_servers", find)
    return looked


def form(standin: Standin, **changes: Any) -> dict[str, Any]:
    """Return a profile as its form sends it, unfinished."""
    sent = {**PROFILE, "provider": "openai", "model": "m", "base_url": f"{standin.url}/v1"}
    return {**sent, "name": "", "context_window": "", **changes}


@pytest.mark.django_db(transaction=True)
def test_a_profile_is_tried_before_it_is_saved(
    browser: Client, owner: User, anthropic_standin: Standin
) -> None:
    """What works is said, the models can be chosen, and the window is filled in."""
    listed = [{"id": "m", "max_model_len": 16_384}, {"id": "<b>", "max_model_len": 4_096}]
    anthropic_standin.served["/v1/models"] = {"data": listed}
    page = browser.post(reverse("test_new_profile"), form(anthropic_standin)).content.decode()
    assert "16,384 tokens, as the server says" in page
    assert "&quot;context_window&quot;: 16384" in page
    assert "&quot;text_only&quot;: false" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert page.count("finding-works") == 8
    assert "none: sizes are estimated" in page
    assert not Profile.objects.filter(provider="openai").exists()
    # What is only tried is in no conversation's record.
    anthropic_standin.requests.clear()


@pytest.mark.django_db(transaction=True)
def test_a_stored_key_is_tried_and_not_shown(
    browser: Client, owner: User, anthropic_standin: Standin
) -> None:
    """The form that edits a profile does not know it."""
    anthropic_standin.key = "sk-stored-0123456789"
    profile = Profile(owner=owner, name="A", provider="openai", context_window=9_000, max_output=9)
    profile.set_key(anthropic_standin.key)
    profile.save()
    address = reverse("test_profile", args=[profile.pk])
    page = browser.post(address, form(anthropic_standin)).content.decode()
    assert "accepted" in page
    assert "not accepted" not in page
    assert "sk-stored" not in page
    page = browser.post(address, form(anthropic_standin, key="sk-other")).content.decode()
    assert "not accepted" in page
    assert re.search(r'finding-untried"><strong>Streaming</strong> not tried', page)
    anthropic_standin.requests.clear()


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_called_is_neither_tried_nor_used(
    browser: Client, owner: User, runs: list[int], settings: LazySettings
) -> None:
    """The server's network is no place for a user's address; an offer is no way to add one."""
    headers = {"HX-Request": "true"}
    sent = {"url": "http://192.168.0.1/v1"}
    assert browser.post(reverse("use_local_server"), sent, headers=headers).status_code == 422
    settings.ALLOW_PRIVATE_ADDRESSES = False
    sent = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:11434/v1"}
    assert browser.post(reverse("test_new_profile"), sent, headers=headers).status_code == 422
    assert not Profile.objects.filter(provider="openai").exists()


@pytest.mark.django_db(transaction=True)
def test_a_model_on_this_machine_is_offered_once(
    browser: Client, owner: User, runs: list[int]
) -> None:
    """One click makes it the one that answers."""
    assert reverse("look_around") in browser.get(reverse("conversations")).content.decode()
    offer = browser.post(reverse("look_around")).content.decode()
    assert "Use Ollama" in offer
    assert "llama&lt;3" in offer
    assert reverse("look_around") not in browser.get(reverse("conversations")).content.decode()
    assert browser.post(reverse("look_around")).content == b""
    assert len(runs) == 1
    browser.post(reverse("use_local_server"), {"url": OLLAMA.url})
    profile = accounts.preferences_of(owner).default_profile
    assert profile
    assert (profile.name, profile.provider, profile.model) == ("Ollama", "openai", "llama<3")
    assert (profile.base_url, profile.context_window) == (OLLAMA.url, 16_384)
    assert profile.key_source == "not needed"


@pytest.mark.parametrize("reason", ["not alone", "not allowed", "has a key", "no owner"])
@pytest.mark.django_db(transaction=True)
def test_this_machine_is_only_looked_at_for_its_owner(
    browser: Client, owner: User, runs: list[int], settings: LazySettings, reason: str
) -> None:
    """And where there is no better model yet."""
    match reason:
        case "not alone":
            User.objects.create_user("bob")
        case "not allowed":
            settings.ALLOW_PRIVATE_ADDRESSES = False
        case "has a key":
            limits = {"context_window": 9_000, "max_output": 9}
            Profile.objects.create(owner=owner, name="C", provider="anthropic", **limits)
        case "no owner":
            User.objects.update(is_superuser=False)
    assert reverse("look_around") not in browser.get(reverse("conversations")).content.decode()
    assert browser.post(reverse("look_around")).content == b""
    assert runs == []
