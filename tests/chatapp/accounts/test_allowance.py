"""A user whose allowance is used up: nothing more goes out on the server's key for them."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from chatapp.conversations import conversations
from chatapp.models import Conversation, ModelCall, Preferences, Profile, accounts
from tests.chatapp.browsers import HTMX
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.profile_form import PROFILE
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(alice: User, settings: Settings, anthropic_standin: Standin) -> Conversation:
    """A long conversation on the server's key, whose owner has nothing left."""
    settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = "sk-server", anthropic_standin.url
    accounts.preferences_of(alice)
    Preferences.objects.update(allowance=1)
    Profile.objects.update(context_window=24_000, max_output=4_000)
    profile = Profile.objects.get(owner=alice, provider="anthropic")
    assert profile.is_on_server
    made = talk_long(conversations.start_conversation(owner=alice, profile=profile))
    ModelCall.objects.create(conversation=made, purpose="chat", status="succeeded", cost=1)
    return made


def test_nothing_is_tried(
    conversation: Conversation, browser: Client, anthropic_standin: Standin
) -> None:
    """Neither another method nor a profile: of that, only the list of models is asked for."""
    ask = {"strategies": ["fresh_start"], "thresholds": "50", "ask": "fresh_start||"}
    sent = {"prompt": "", "writer": "", "predicted": "1", **ask}
    answer = browser.post(reverse("what_if", args=[conversation.pk]), sent, headers=HTMX)
    assert "is spent" in answer.context["card"].tried.error
    profile = conversation.profile
    assert profile
    tried = PROFILE | {"model": profile.model, "base_url": ""}
    browser.post(reverse("test_profile", args=[profile.pk]), tried)
    assert anthropic_standin.requests == []
