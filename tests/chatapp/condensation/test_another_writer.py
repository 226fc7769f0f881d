"""Another model may condense: the one of the profile that the answering one names."""

from decimal import Decimal

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.forms.profiles import ProfileForm
from chatapp.models import Condensation, Conversation, ModelCall, Profile
from tests.chatapp.claude import answered_by, converse
from tests.chatapp.condensation.conftest import LONG
from tests.chatapp.sockets import open_page
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def writer(alice: User, anthropic_standin: Standin) -> Profile:
    """A cheaper profile of Alice's, with a window of its own."""
    columns = {"context_window": 60_000, "price_input": 1, "price_cache_write": 1}
    return answered_by(alice, "anthropic", "claude-haiku-4-5", anthropic_standin.url, **columns)


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin, writer: Profile) -> Conversation:
    """A conversation whose profile names another for its summaries."""
    conversation = converse(alice, anthropic_standin)
    Profile.objects.filter(pk=conversation.profile_id).update(summaries_by=writer)
    return conversation


async def condense(conversation: Conversation, user: User) -> Condensation:
    """Talk, press Condense, and return the record."""
    async with open_page(conversation, user) as page:
        for words in (LONG, "And now?"):
            await page.say(words)
            await page.until_idle()
        await page.send("condense.start")
        await page.until_idle()
    return await Condensation.objects.aget(conversation=conversation)


async def test_the_summary_is_written_by_the_other_model_at_its_prices(
    conversation: Conversation,
    alice: User,
    writer: Profile,
    anthropic_standin: Standin,
    browser: Client,
) -> None:
    """From the conversation as text, of which it has read nothing; the record says who wrote it."""
    attempt = await condense(conversation, alice)
    assert (attempt.status, attempt.model) == ("succeeded", "claude-opus-5")
    assert (attempt.writer_name, attempt.writer_model) == (writer.name, "claude-haiku-4-5")
    call = await ModelCall.objects.aget(purpose=ModelCall.Purpose.SUMMARY)
    assert (call.model, call.profile_name) == (writer.model, writer.name)
    assert call.cost == attempt.cost == Decimal(call.tokens_prompt) / 1_000_000
    chats = ModelCall.objects.filter(purpose=ModelCall.Purpose.CHAT)
    assert await sync_to_async(set)(chats.values_list("model", flat=True)) == {"claude-opus-5"}
    sent = anthropic_standin.requests[-1].body
    assert sent["model"] == "claude-haiku-4-5"
    assert "tools" not in sent
    assert "You summarise conversations" in str(sent["system"])
    assert anthropic_standin.problems == []
    predicted = attempt.predicted
    assert predicted is not None
    assert predicted.cache_read == 0
    assert predicted.prompt > 1_000
    assert attempt.predicted_cost == writer.cost_of(predicted)
    url = reverse("chat", args=[conversation.pk])
    page = (await sync_to_async(browser.get)(url)).content.decode()
    assert f"Summary by</dt><dd>{writer.name} · <code>claude-haiku-4-5</code>" in page


def test_only_the_owners_other_profiles_can_be_chosen(
    alice: User, bob: User, conversation: Conversation, writer: Profile
) -> None:
    """Neither the profile itself, nor one of Bob's."""
    own = conversation.profile
    assert own is not None
    bobs = Profile.objects.create(
        owner=bob, name="B", provider="offline", model="m", context_window=9_000, max_output=9
    )
    field = ProfileForm(instance=own).fields["summaries_by"]
    assert [*field.queryset] == [writer]
    for wrong in (own, bobs):
        form = ProfileForm({"summaries_by": wrong.pk}, instance=own)
        assert "summaries_by" in form.errors
