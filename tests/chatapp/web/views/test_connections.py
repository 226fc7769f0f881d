"""Trying a profile's server, and being offered one that runs on this machine."""

import re
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.accounts import new_profiles
from chatapp.models import Conversation, Preferences, Profile, accounts
from chatapp.providers import provider_spec
from chatapp.providers.model_servers import LocalServer
from chatapp.providers.specs import ListedModel, Preset
from chatapp.web.views import profiles
from tests.chatapp.browsers import HTMX, browser_of
from tests.chatapp.profile_form import PROFILE
from tests.chatapp.scripted_turns import ask, end
from tests.standin.behaviours import OVERFLOW
from tests.standin.server import Standin

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
    """A model on this machine, which is busy; how many seconds it was looked for each time."""
    looked: list[int] = []

    async def find(patience: float) -> list[LocalServer]:
        looked.append(round(patience))
        # One that is busy takes longer to answer.
        slow = ListedModel("/models/llama<3.Q4_1.gguf", 16_384)
        return [LocalServer("openai", OLLAMA, (slow,))] if patience > 1 else []

    monkeypatch.setattr(profiles, "find_local_servers", find)
    return looked


def form(standin: Standin, **changes: Any) -> dict[str, Any]:
    """Return a profile as its form sends it, unfinished."""
    sent = {**PROFILE, "provider": "openai", "model": "small", "base_url": f"{standin.url}/v1"}
    return {**sent, "name": "", "context_window": "", **changes}


SMALL = {"id": "small", "max_model_len": 16_384, "max_output_tokens": 16_384}
# One that is known by itself, and one of a long name and hardly any window.
KNOWN = {"id": provider_spec("openai").models[0].id, "max_model_len": 16_384}
LONG = {"id": "long" * 22, "max_model_len": 10}
MODELS = [SMALL, {"id": "mystery"}, {"id": "<b>"}, KNOWN, LONG]


def test_a_profile_is_tried_before_it_is_saved(
    browser: Client, owner: User, anthropic_standin: Standin
) -> None:
    """What works is said, and the models can be chosen; a stored key is tried and not shown."""
    anthropic_standin.key = "sk-stored-0123456789"
    anthropic_standin.served["/v1/models"] = {"data": MODELS}
    profile = Profile(owner=owner, name="A", provider="openai", context_window=9_000, max_output=9)
    profile.set_key(anthropic_standin.key)
    profile.save()
    address = reverse("test_profile", args=[profile.pk])
    sent = form(anthropic_standin, text_only="on")
    page = browser.post(address, sent).text
    assert "16,384 tokens, as the server says" in page
    assert "&quot;context_window&quot;: 16384" in page
    assert "&quot;text_only&quot;: false" in page
    assert ("&lt;b&gt;" in page, "<b>" in page, "sk-stored" in page) == (True, False, False)
    assert page.count("finding-works") == 8
    assert "none: sizes are estimated" in page
    page = browser.post(address, {**sent, "key": "sk-other"}).text
    assert "not accepted" in page
    assert re.search(r'finding-untried"><strong>Streaming</strong> not tried', page)
    assert not Profile.objects.filter(model="small").exists()
    # What is only tried is in no conversation's record.
    anthropic_standin.requests.clear()


def connect(browser: Client, **sent: str) -> str:
    """Return what the first page shows once its form was sent."""
    return browser.post(reverse("connect"), sent, headers=HTMX).text


def test_what_cannot_be_called_is_neither_tried_nor_used(
    browser: Client, owner: User, settings: LazySettings
) -> None:
    """The server's network is no place for a user's address; what is missing is asked for."""
    settings.ALLOW_PRIVATE_ADDRESSES = False
    sent = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:11434/v1"}
    headers = HTMX
    assert browser.post(reverse("test_new_profile"), sent, headers=headers).status_code == 422
    assert "localhost" not in browser.get(reverse("conversations")).text
    address = "http://192.168.0.1/v1"
    assert "operator has not allowed" in connect(browser, to="elsewhere", address=address)
    assert "Enter an address." in connect(browser, to="elsewhere", key="sk-a")
    assert "Enter a key." in connect(browser, to="anthropic")
    assert "errorlist" in connect(browser, to="nobody", key="sk-a")
    assert not Profile.objects.filter(provider="openai").exists()


def test_an_address_and_a_key_are_enough_to_connect_a_model(
    browser: Client, owner: User, anthropic_standin: Standin, settings: LazySettings
) -> None:
    """The key is tested, the models are offered, and the first one becomes the default."""
    # Whoever leaves the beginning or the end of the address away, or has too much, is understood.
    sent = {"to": "elsewhere", "address": anthropic_standin.url.removeprefix("http://")}
    # A server that lists nothing is asked for a word, with or without a key.
    anthropic_standin.then(*[OVERFLOW] * 3)
    assert 'value="unlisted"' in connect(browser, **sent, model="unlisted")
    anthropic_standin.key = "sk-right"
    anthropic_standin.served["/v1/models"] = {"data": MODELS}
    assert "This address needs a key" in connect(browser, **sent)
    called = f"{anthropic_standin.url}/v1/chat/completions/"
    assert "did not accept" in connect(browser, to="elsewhere", address=called, key="sk-wrong")
    assert "did not accept this key" in connect(browser, **sent, key="sk-wrong")
    assert 'value="mystery"' in connect(browser, **sent, key="sk-right", model="of-another")
    offer = connect(browser, **sent, key="sk-right")
    assert f"Key accepted · {len(MODELS)} models" in offer
    page = connect(browser, **sent, key="sk-right", model="mystery")
    profile = accounts.preferences_of(owner).default_profile
    assert profile
    assert (profile.model, profile.read_key()) == ("mystery", "sk-right")
    assert ("a safe guess" in page, "sk-right" in page) == (True, False)
    assert f'<option value="{profile.pk}" selected' in page
    home = browser.get(reverse("conversations")).text
    assert "Connect a model" not in home
    # Another profile than the default can be chosen for a conversation.
    (offline,) = re.findall(r'<option value="(\d+)">Offline', home)
    chosen = browser.post(reverse("new_conversation"), {"profile": offline}, follow=True)
    assert chosen.context["conversation"].profile.name == "Offline"
    # What the server says goes before what is known here; the default stays the first one.
    for model, window in ((KNOWN, 16_384), (LONG, new_profiles.LEAST_WINDOW)):
        connect(browser, **sent, key="sk-right", model=str(model["id"]))
        made = Profile.objects.get(model=model["id"])
        assert (made.context_window, len(made.name) < 80) == (window, True)
    assert accounts.preferences_of(owner).default_profile == profile
    for address, said in (
        (anthropic_standin.url.replace("//", "//a:b@"), "Leave user name"),
        (f"{anthropic_standin.url}/v1?api-version=1", "Leave out “?” or “#”"),
    ):
        refused = {**sent, "address": address}
        assert said in connect(browser, **refused, key="sk-right", model="small")
    # A key for the provider goes nowhere else.
    settings.ANTHROPIC_BASE_URL = anthropic_standin.url
    connect(browser, to="anthropic", address="http://127.0.0.1:9", key="sk-right", model="mystery")
    assert Profile.objects.get(provider="anthropic").base_url == ""
    anthropic_standin.requests.clear()


@pytest.mark.parametrize(("model", "window"), [("small", "16,384"), ("mystery", "32,000")])
def test_an_unknown_model_needs_no_numbers_and_its_key_is_typed_once(
    browser: Client, owner: User, anthropic_standin: Standin, model: str, window: str
) -> None:
    """A wrong field beside it sends the key back sealed, for the same user only."""
    anthropic_standin.key = "sk-typed-0123456789"
    anthropic_standin.served["/v1/models"] = {"data": MODELS}
    sent = form(anthropic_standin, name="N", model=model, max_output="")
    wrong = {**sent, "price_input": "-1", "key": anthropic_standin.key}
    page = browser.post(reverse("new_profile"), wrong).text
    assert "This field is required" not in page
    assert "sk-typed" not in page
    (sealed,) = re.findall('name="sealed_key" value="([^"]+)"', page)
    page = browser.post(reverse("new_profile"), {**sent, "sealed_key": sealed}, follow=True).text
    assert f"{window} tokens" in page
    profile = Profile.objects.get(name="N")
    assert profile.read_key() == anthropic_standin.key
    assert profile.max_output < profile.context_window
    assert ("a safe guess" in page) == profile.has_safe_limits == (model == "mystery")
    assert accounts.preferences_of(owner).default_profile == profile
    # What is typed is not looked up, and who has chosen another default keeps that.
    Preferences.objects.update(default_profile=None)
    anthropic_standin.key = "sk-new"
    typed = {"context_window": 9_000, "key": "sk-new", "sealed_key": sealed}
    browser.post(reverse("edit_profile", args=[profile.pk]), {**sent, **typed})
    profile.refresh_from_db()
    assert (profile.context_window, profile.read_key()) == (9_000, "sk-new")
    assert accounts.preferences_of(owner).default_profile is None
    bob = browser_of(User.objects.create_user("bob"))
    bob.post(reverse("new_profile"), {**sent, "sealed_key": sealed})
    assert [one.has_key for one in Profile.objects.filter(name="N").order_by("pk")] == [True, False]
    # What is asked for in the end counts: to keep none of them.
    removed = {**sent, "sealed_key": sealed, "remove_key": "on"}
    browser.post(reverse("edit_profile", args=[profile.pk]), removed)
    profile.refresh_from_db()
    assert not profile.has_key
    browser.post(reverse("new_profile"), {**sent, "name": "M", "max_output": 100})
    assert Profile.objects.get(name="M").max_output == 100


def test_a_model_on_this_machine_is_offered(
    browser: Client, owner: User, runs: list[int], anthropic_standin: Standin
) -> None:
    """Until one is connected, and nobody else is offered it."""
    assert reverse("look_around") in browser.get(reverse("conversations")).text
    nothing = browser.post(reverse("look_around")).text
    assert "No model runs on this machine yet." in nothing
    assert 'hx-trigger="load delay:3s, focus from:window' in nothing
    offer = browser.post(reverse("look_around"), {"again": ""}).text
    assert "Use <bdi>Ollama</bdi>" in offer
    assert ">llama&lt;3 Q4_1</option>" in offer
    assert ("llama<3" in offer, "delay:3s" in offer, "Look again" in offer) == (False, False, True)
    anthropic_standin.served["/v1/models"] = {"data": [{"id": "llama<3"}]}
    connect(browser, to="elsewhere", address=f"{anthropic_standin.url}/v1", model="llama<3")
    profile = accounts.preferences_of(owner).default_profile
    assert profile
    assert (profile.model, profile.key_source) == ("llama<3", "not needed")
    assert reverse("look_around") not in browser.get(reverse("conversations")).text


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("/models/SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct Q4_1"),
        ("C:\\models\\tiny-llama.IQ2_XS.GGUF", "tiny-llama IQ2_XS"),
        ("/srv/" + "deep/" * 14 + "qwen3-f16.gguf", "qwen3 f16"),
        ("Qwen/Qwen3-8B/", "Qwen3-8B"),
        ("gpt-oss:20b", "gpt-oss:20b"),
        ("/", "/"),
    ],
)
def test_a_model_is_named_by_its_last_part(
    browser: Client, owner: User, anthropic_standin: Standin, model: str, name: str
) -> None:
    """Through each door; a second one of that name gets a number, and a name of one's own stays."""
    anthropic_standin.served["/v1/models"] = {"data": [{"id": model}]}
    connect(browser, to="elsewhere", address=f"{anthropic_standin.url}/v1", model=model)
    typed = form(anthropic_standin, model=model[:100], max_output="")
    browser.post(reverse("new_profile"), {**typed, "name": f"My {model[-20:]}"})
    made = Profile.objects.filter(provider="openai")
    assert set(made.values_list("name", flat=True)) == {name, f"My {model[-20:]}"}
    made.filter(name=name).update(name="Before")
    browser.post(reverse("new_profile"), {**typed, "name": model[:70]})
    assert made.filter(name=name).exists()


def test_a_profile_that_was_named_by_a_path_is_renamed(owner: User) -> None:
    """Other names stay, and none comes twice."""
    path, short = f"/models/{'deep/' * 14}SmolLM2.Q4_1.gguf", "SmolLM2 Q4_1"
    limits = {"provider": "openai", "context_window": 9_000, "max_output": 9}
    cut = path[:70]
    for name, model in ((cut, path), (f"{cut} 2", path), ("Mine / yours", path), ("a/b", "c")):
        Profile.objects.create(owner=owner, name=name, model=model, **limits)
    import_module("chatapp.migrations.0064_short_names").shorten(apps, None)
    names = set(owner.profiles.filter(provider="openai").values_list("name", flat=True))
    assert names == {short, f"{short} 2", "Mine / yours", "a/b"}


@pytest.mark.parametrize("reason", ["not alone", "not allowed", "no owner"])
def test_this_machine_is_only_looked_at_for_its_owner(
    browser: Client, owner: User, runs: list[int], settings: LazySettings, reason: str
) -> None:
    """Nobody else calls what runs there."""
    match reason:
        case "not alone":
            User.objects.create_user("bob")
        case "not allowed":
            settings.ALLOW_PRIVATE_ADDRESSES = False
        case "no owner":
            User.objects.update(is_superuser=False)
    assert reverse("look_around") not in browser.get(reverse("conversations")).text
    assert browser.post(reverse("look_around")).text.strip() == ""
    assert runs == []


def test_the_choice_has_the_profile_used_last_first(
    browser: Client, alice: User, conversation: Conversation
) -> None:
    """Those that never answered come after it, by name."""
    limits = {"context_window": 9_000, "max_output": 9}
    Profile.objects.create(owner=alice, name="Aa", provider="openai", model="small", **limits)
    end(ask(conversation, "Hi"), "Hello")
    page = browser.get(reverse("profile_choice", args=[conversation.pk])).text
    first, *others = re.findall(r'picker-name"><bdi>(.*?)</bdi>', page)
    assert conversation.profile
    assert first == conversation.profile.name > "Aa"
    assert others == sorted(others)
    assert "Aa" in others
    assert page.count("last used") == 1
