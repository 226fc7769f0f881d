"""The window that a provider names when it refuses a request: used at once, and offered."""

import json

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.accounts.new_profiles import set_window
from chatapp.models import Condensation, Conversation, Profile
from tests.chatapp.browsers import HTMX
from tests.chatapp.claude import answered_by, converse
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.runs import bar_of
from tests.chatapp.sockets import Page
from tests.standin.behaviours import Failure, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
NAMED = Failure(400, "invalid_request_error", "prompt is too long: 9250 tokens > 9000 maximum")
OFFER = "This model takes 9,000 tokens, your profile says 60,000."


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin, short_summaries: None) -> Conversation:
    """A conversation whose profile says much more than its model takes."""
    conversation = converse(alice, anthropic_standin, context_window=60_000, max_output=8_000)
    return talk_long(conversation, "word " * 100, tokens=2_500)


async def test_it_holds_in_the_conversation_at_once_and_is_offered_to_the_profile(
    conversation: Conversation, browser: Client, anthropic_standin: Standin, page: Page
) -> None:
    """Next requests, bar and threshold go by it; whose profile it is sets it with one button."""
    anthropic_standin.then(NAMED, Reply(SUMMARY), Reply("Yes."), Reply("And yes."))
    await page.ask("And now?")
    assert "9,000" in page.frames[-1]["bar"]
    attempt = await Condensation.objects.aget()
    assert (attempt.trigger, attempt.context_window) == ("forced", 9_000)
    await page.ask("And then?")
    asked = [json.loads(one.raw)["max_tokens"] for one in anthropic_standin.requests]
    assert (asked[0], {*asked[1:]}) == (8_000, {1_800})
    state = await sync_to_async(bar_of)(conversation)
    assert state
    assert (state.window, state.reserved, state.condenses_at) == (9_000, 1_800, 6_300)
    chat, button = (reverse(one, args=[conversation.pk]) for one in ("chat", "set_window"))
    get, post = map(sync_to_async, (browser.get, browser.post))
    shown = (await get(chat)).text
    assert OFFER in shown
    assert button in shown
    assert (await post(button, headers=HTMX)).status_code == 204
    profile = await Profile.objects.aget(pk=conversation.profile_id)
    assert (profile.context_window, profile.max_output) == (9_000, 8_000)
    assert OFFER not in (await get(chat)).text
    assert (await post(button, headers=HTMX)).status_code == 422


@pytest.mark.parametrize("way", ["shared", "another", "raised"])
def test_it_is_of_one_profile_whose_owner_decides(
    conversation: Conversation, alice: User, bob: User, browser: Client, way: str
) -> None:
    """A shared one is told of only; another one, or new limits of this one, have their own."""
    Conversation.objects.update(named_window=9_000)
    profile = conversation.profile
    assert profile
    window = 60_000
    if way == "shared":
        origin = answered_by(bob, "anthropic", "claude-opus-5", "", context_window=60_000)
        Profile.objects.filter(pk=profile.pk).update(origin=origin)
        window = 9_000
        button = reverse("set_window", args=[conversation.pk])
        assert browser.post(button, headers=HTMX).status_code == 422
    elif way == "raised":
        profile.save()
    else:
        window = 50_000
        other = answered_by(alice, "anthropic", "claude-opus-5", "", context_window=window)
        address = reverse("choose_profile", args=[conversation.pk])
        browser.post(address, {"profile": other.pk}, headers=HTMX)
    state = bar_of(Conversation.objects.get(pk=conversation.pk))
    assert state
    assert state.window == window


@pytest.mark.parametrize(("written", "left"), [(8_999, 8_999), (9_000, 1_800), (60_000, 1_800)])
def test_a_reply_has_room_in_the_named_window(alice: User, written: int, left: int) -> None:
    """A limit that fills all of it becomes a fifth."""
    profile = answered_by(alice, "anthropic", "claude-opus-5", "", max_output=written)
    set_window(profile, 9_000)
    assert (profile.context_window, profile.max_output) == (9_000, left)
