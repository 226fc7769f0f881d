"""Prices: what the server's key pays for costs what it costs, whatever a member says of it."""

import asyncio
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

import condense
from chatapp.accounts import users
from chatapp.conversations import conversations
from chatapp.models import ModelCall, Profile, accounts
from chatapp.turns import crash_recovery
from tests.chatapp.browsers import browser_of
from tests.chatapp.profile_form import PROFILE
from tests.chatapp.runs import named
from tests.chatapp.scripted_turns import ask, elsewhere
from tests.chatapp.sockets import open_page
from tests.chatapp.web.api.programs import Manager
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

FREE = dict.fromkeys(("price_input", "price_output", "price_cache_read", "price_cache_write"), 0)
USED = condense.Usage(input=50_000, output=1_000_000, cache_read=1_000_000)
Door = Callable[[Profile], object]


@pytest.fixture
def paid(alice: User, settings: Settings, anthropic_standin: Standin) -> Profile:
    """A profile of Alice's, a member, that the server's key pays for."""
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "sk-server", anthropic_standin.url
    accounts.preferences_of(alice)
    return Profile.objects.get(owner=alice, provider="anthropic")


def by_form(profile: Profile) -> object:
    """Set the prices as the page does."""
    return browser_of(profile.owner).post(
        reverse("edit_profile", args=[profile.pk]), PROFILE | FREE | {"model": profile.model}
    )


def by_api(profile: Profile) -> object:
    """Set the prices as a program does."""
    return Manager(profile.owner).patch(f"profiles/{profile.pk}", **FREE)


def by_row(profile: Profile) -> object:
    """Leave the prices as an older version, or whatever else writes rows, stored them."""
    return Profile.objects.filter(pk=profile.pk).update(**FREE)


@pytest.mark.parametrize("door", [by_form, by_api, by_row])
@pytest.mark.parametrize(
    ("model", "cost"), [("claude-haiku-4-5", "5.15"), ("claude-of-tomorrow", "51")]
)
def test_no_member_sets_the_prices_of_what_the_server_pays_for(
    paid: Profile, door: Door, model: str, cost: str
) -> None:
    """They are the model's own, or the dearest of its provider; pages and programs see them."""
    Profile.objects.update(model=model, **FREE)
    paid.refresh_from_db()
    door(paid)
    paid = Profile.objects.get(pk=paid.pk)
    assert (paid.model, paid.cost_of(USED)) == (model, Decimal(cost))
    (shown,) = [
        one
        for one in Manager(paid.owner).client.get("/api/profiles").json()
        if one["id"] == paid.pk
    ]
    assert Decimal(shown["price_output"]) == paid.prices.output
    page = browser_of(paid.owner).get(reverse("edit_profile", args=[paid.pk]))
    field = page.context["form"]["price_output"]
    assert (Decimal(field.value()), field.field.disabled) == (paid.prices.output, True)


def test_prices_are_theirs_who_pay(paid: Profile, bob: User) -> None:
    """An operator's for the server's key and for copies, once they are set; a member's for theirs.

    A server without a key costs what its owner says, which may be nothing.
    """
    Profile.objects.update(model="claude-of-tomorrow", **FREE | {"price_output": 3})
    operators = Profile.objects.get(pk=paid.pk)
    operators.owner.is_superuser = True
    operators.owner.save()
    assert operators.cost_of(USED) == 3
    accounts.preferences_of(bob)
    accounts.share(operators)
    copy = bob.profiles.get(origin=operators)
    assert copy.cost_of(USED) == 3
    Profile.objects.update(**FREE)
    assert bob.profiles.get(origin=operators).cost_of(USED) == Decimal("51")
    Profile.objects.filter(pk=operators.pk).update(provider="openai", base_url="http://gpu:8000/v1")
    Profile.objects.filter(origin=operators).update(provider="openai")
    assert not bob.profiles.get(origin=operators).cost_of(USED)
    own = Profile(owner=bob, provider="anthropic", model="claude-haiku-4-5", **FREE)
    own.set_key("sk-bob")
    assert own.cost_of(USED) is None


def test_another_model_at_a_vendor_that_an_operator_pays_is_not_free(
    paid: Profile, bob: User
) -> None:
    """Unless the operator says that its own is, as at a server of theirs."""
    operators = Profile.objects.get(pk=paid.pk)
    accounts.preferences_of(bob)
    operators.owner.is_superuser = True
    operators.owner.save()
    columns = {"provider": "openai", "model": "llama", "base_url": "https://vendor.example/v1"}
    for price, cost in ((3, True), (0, False)):
        Profile.objects.filter(pk=operators.pk).update(**columns, **FREE | {"price_output": price})
        operators.refresh_from_db()
        accounts.share(operators)
        copy = bob.profiles.get(origin=operators)
        assert bool(copy.for_model("llama-large").cost_of(USED)) == cost


def test_a_member_tries_no_model_on_the_servers_key(
    paid: Profile, browser: Client, anthropic_standin: Standin
) -> None:
    """No budget would count it: only the list of models is asked for, which costs nothing."""
    sent = PROFILE | {"model": "claude-fable-5-1"}
    for place in (reverse("test_profile", args=[paid.pk]), reverse("test_new_profile")):
        assert browser.post(place, sent).status_code == 200
    assert anthropic_standin.requests == []


@pytest.mark.parametrize("purpose", ["title", "summary", "chat"])
@pytest.mark.parametrize(
    "changed",
    [{"model": "claude-haiku-4-5"}, {"provider": "offline"}, {"name": "?", "encrypted_key": "?"}],
)
def test_a_call_that_broke_off_costs_what_its_model_does(
    paid: Profile, purpose: str, changed: dict[str, str]
) -> None:
    """Whatever its profile has become of meanwhile, and whichever is its turn's."""
    called = named(paid) | {"model": "claude-of-tomorrow", "tokens_estimated": 1_000}
    sample = paid.owner.profiles.get(provider="offline")
    conversation = conversations.start_conversation(owner=paid.owner, profile=sample)
    turn = elsewhere(ask(conversation))
    ModelCall.objects.create(conversation=conversation, turn=turn, purpose=purpose, **called)
    Profile.objects.filter(pk=paid.pk).update(**FREE | {"model": called["model"]} | changed)
    crash_recovery.recover()
    crash_recovery.close_left()
    assert ModelCall.objects.get().cost == Decimal("0.01")


@pytest.mark.django_db(transaction=True)
async def test_a_budget_holds_on_the_servers_key(
    paid: Profile, alice: User, anthropic_standin: Standin
) -> None:
    """Free of charge, as its owner has it, the second message would be answered too."""

    def begin() -> Any:
        by_api(paid)
        users.give_budget(alice, Decimal("0.01"))
        conversation = conversations.start_conversation(owner=alice, profile=paid)
        spent = {"status": "succeeded", "cost": Decimal("0.009")}
        ModelCall.objects.create(conversation=conversation, purpose="chat", **spent)
        return conversation

    conversation = await sync_to_async(begin)()
    anthropic_standin.then(Reply("Hello."), Reply("Hello again."))
    async with open_page(conversation, alice) as page:
        await page.ask("Hi")
        refused = await page.refusal("Hi")
    assert "Ask an operator" in refused
    assert len(anthropic_standin.requests) == 1
    assert (await ModelCall.objects.alatest("pk")).cost


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("begin", "stop"), [("message.send", "turn.stop"), ("condense.start", "condense.cancel")]
)
async def test_what_is_stopped_before_its_first_word_has_a_cost(
    paid: Profile, alice: User, anthropic_standin: Standin, begin: str, stop: str
) -> None:
    """The provider has read it by then; it is estimated, and marked so."""
    conversation = await sync_to_async(conversations.start_conversation)(owner=alice, profile=paid)
    hold = Gate()
    anthropic_standin.then(Reply("Noted."), Reply("Noted."), Reply("Late.", hold=hold))
    async with open_page(conversation, alice) as page:
        for _ in range(2):
            await page.ask("word " * 1_000)
        await page.send(
            begin, **({"text": "Hi", "nonce": str(uuid.uuid4())} if "send" in begin else {})
        )
        await asyncio.to_thread(hold.wait_until_reached)
        await page.send(stop)
        await page.until_idle()
        hold.open()
    call = await ModelCall.objects.alatest("pk")
    assert 2_000 < call.tokens_input < 6_000
    assert (call.cost == Decimal(0), call.usage_measured) == (False, False)
