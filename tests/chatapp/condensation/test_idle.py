"""Condensing while nobody says anything, before the provider's cache expires."""

import pytest
import pytest_django
from django.contrib.auth.models import User

from chatapp.condensation import cost_forecast
from chatapp.models import (
    Condensation,
    Conversation,
    ModelCall,
    Preferences,
    Profile,
    message_store,
)
from tests.chatapp.claude import converse
from tests.chatapp.condensation.conftest import talk_long
from tests.chatapp.runs import run_in
from tests.chatapp.sockets import open_page
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
# In USD per million tokens, as models cost that are read from a cache at a tenth.
PAID = {"price_input": 5, "price_output": 25, "price_cache_read": 0.5, "price_cache_write": 6.25}


@pytest.fixture
def conversation(
    alice: User, anthropic_standin: Standin, settings: pytest_django.Settings
) -> Conversation:
    """A conversation of some 9,000 tokens, which condenses at 12,000 of 24,000."""
    # One word is summary enough here.
    settings.CONDENSE_DEFAULT_HOOKS = False
    settings.CONDENSE_IDLE_AFTER = 0
    Preferences.objects.filter(owner=alice).update(threshold=50, condense_idle=True)
    limits = {"context_window": 24_000, "max_output": 4_000}
    conversation = converse(alice, anthropic_standin, **limits)
    Profile.objects.filter(pk=conversation.profile_id).update(**PAID)
    return talk_long(conversation)


async def test_after_a_rest_a_conversation_is_condensed_where_that_is_cheaper(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """Once, in a turn of its own, and on record as what it is."""
    anthropic_standin.then(Reply("Yes."), Reply(SUMMARY))
    async with open_page(conversation, alice) as page:
        await page.say("And now?")
        await page.until_idle()
        await page.until("status.changed", text="Condensing context…")
        await page.until_idle()
    attempt = await Condensation.objects.aget()
    assert (attempt.trigger, attempt.status) == ("idle", "succeeded")
    calls = [one.purpose async for one in ModelCall.objects.order_by("pk")]
    assert calls == ["chat", "summary"]


@pytest.mark.parametrize(
    ("paid", "wishes", "cheaper"),
    [
        ({}, {}, True),
        # An output so dear that the summary costs more than the prompt.
        ({"price_output": 100}, {}, False),
        # One that pays only as long as nobody counts the system prompt and tools of the next call.
        ({"price_output": 60}, {}, False),
        # Nothing is saved where the cache is as dear as the rest, or nothing has a price.
        ({"price_cache_read": 6.25}, {}, False),
        (dict.fromkeys(PAID, 0), {}, False),
        ({}, {"condense_idle": False}, False),
        ({}, {"review_automatic": True}, False),
        # It is not half way yet.
        ({"context_window": 60_000}, {}, False),
    ],
)
def test_it_is_cheaper_by_the_prices_of_the_profile(
    conversation: Conversation, paid: dict[str, float], wishes: dict[str, object], cheaper: bool
) -> None:
    """A summary now and a short prompt later, against the whole prompt, uncached, later."""
    Profile.objects.filter(pk=conversation.profile_id).update(**paid)
    Preferences.objects.filter(owner=conversation.owner).update(**wishes)
    terms = run_in(conversation)
    assert cost_forecast.is_cheaper(terms, message_store.read_effective(conversation.pk)) is cheaper


def test_what_was_put_off_is_not_condensed_in_a_rest(conversation: Conversation) -> None:
    """Nobody wants it now."""
    message_store.put_off(conversation, True)
    assert not run_in(conversation).condenses_idle
