"""What is not known of a call's cost is not said to be nothing."""

from decimal import Decimal

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

import condense
from chatapp.conversations import conversations
from chatapp.maintenance.integrity import find_problems
from chatapp.models import Condensation, ModelCall, Profile
from tests.chatapp.claude import answered_by
from tests.chatapp.sockets import open_page
from tests.standin.behaviours import Reply
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]

pytestmark = pytest.mark.django_db(transaction=True)

FREE = {"price_input": 0, "price_cache_write": 0}
LONG = " ".join(map(str, range(100, 1_000)))


@pytest.mark.parametrize(
    ("provider", "url", "prices", "expected"),
    [
        ("openai", "", FREE, None),
        ("openai", "https://openrouter.ai/api/v1", FREE, None),
        ("openai", "https://openrouter.ai/api/v1", {**FREE, "price_input": 2}, Decimal(2)),
        ("openai", "http://localhost:11434/v1", FREE, Decimal(0)),
        ("openai", "http://127.0.0.1:1/v1", FREE, Decimal(0)),
        ("offline", "", FREE, Decimal(0)),
    ],
)
def test_a_price_nobody_told_is_unknown_where_there_is_one(
    alice: User, provider: str, url: str, prices: dict[str, int], expected: Decimal | None
) -> None:
    """A server that needs no key charges nothing."""
    profile = answered_by(alice, provider, "m", url, **prices)
    assert Profile.objects.get(pk=profile.pk).cost_of(condense.Usage(1_000_000)) == expected


async def test_an_unknown_cost_is_shown_as_one(
    alice: User, browser: Client, anthropic_standin: Standin
) -> None:
    """Of a call, of its turn and of a condensation; the sums go on with what is known."""
    profile = await sync_to_async(answered_by)(
        alice, "anthropic", "claude-x", anthropic_standin.url, **FREE
    )
    conversation = await sync_to_async(conversations.start_conversation)(
        owner=alice, profile=profile
    )
    async with open_page(conversation, alice) as page:
        for text in (LONG, LONG, LONG):
            await page.say(text)
            await page.until_idle()
        await page.send("condense.start")
        await page.until_idle()
    costs = [one.cost async for one in ModelCall.objects.all()]
    assert costs == [None] * 4
    assert (await Condensation.objects.aget()).cost is None
    shown = await sync_to_async(browser.get)(reverse("chat", args=[conversation.pk]))
    assert "$0" not in shown.content.decode()
    assert await sync_to_async(lambda: [*find_problems()])() == []


async def test_a_prompt_of_which_nothing_was_told_is_estimated(
    alice: User, anthropic_standin: Standin
) -> None:
    """Where a server reports no usage, what went in counts all the same, as an estimate."""
    url = f"{anthropic_standin.url}/v1"
    profile = await sync_to_async(answered_by)(alice, "openai", "m", url)
    conversation = await sync_to_async(conversations.start_conversation)(
        owner=alice, profile=profile
    )
    anthropic_standin.then(Reply("Yes.", usage=False))
    async with open_page(conversation, alice) as page:
        await page.say(LONG)
        await page.until_idle()
    call = await ModelCall.objects.aget()
    assert not call.usage_measured
    assert call.tokens_input > 1_000
    assert call.cost
