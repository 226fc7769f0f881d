"""What a condensation is predicted to cost stands beside what it cost, part by part."""

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import condense as engine
from chatapp.condensation.cost_forecast import predict
from chatapp.conversations import conversations, rewind
from chatapp.models import Condensation, Conversation, ModelCall, Preferences, Profile
from chatapp.transcript import condensation_page
from tests.chatapp.claude import answered_by
from tests.chatapp.providers.doors import DOORS, Door
from tests.chatapp.runs import run_in
from tests.chatapp.sockets import open_page
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]

pytestmark = pytest.mark.django_db(transaction=True)

LONG = " ".join(map(str, [*range(100, 725)] * 2))


@pytest.fixture
def profile(alice: User, anthropic_standin: Standin) -> Profile:
    """A profile whose provider caches prompts, and charges for what is written there."""
    door = next(door for door in DOORS if door.name == "anthropic")
    return answered_by(alice, door.name, door.model, door.url(anthropic_standin))


async def condense(profile: Profile, user: User) -> Condensation:
    """Talk in a new conversation, press Condense, and return the record."""
    begin = sync_to_async(conversations.start_conversation)
    conversation = await begin(owner=user, profile=profile)
    async with open_page(conversation, user) as page:
        for number in range(3):
            await page.say(f"{number} {LONG}")
            await page.until_idle()
        await page.send("condense.start")
        await page.until_idle()
    return await Condensation.objects.aget(conversation=conversation)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
async def test_what_the_cache_has_is_predicted_to_be_read_from_it(
    alice: User, anthropic_standin: Standin, browser: Client, door: Door
) -> None:
    """Through every vendor's door; the record's page has both, by part."""
    profile = await sync_to_async(answered_by)(
        alice, door.name, door.model, door.url(anthropic_standin)
    )
    attempt = await condense(profile, alice)
    predicted = attempt.predicted
    assert predicted is not None
    assert attempt.predicted_cost == profile.cost_of(predicted)
    spent = (await sync_to_async(condensation_page.read_record)(attempt)).spent
    assert spent[1].predicted == pytest.approx(spent[1].tokens, rel=0.25)
    said = sum(part.predicted or 0 for part in spent[:3])
    assert said == pytest.approx(sum(part.tokens for part in spent[:3]), rel=0.25)
    address = reverse("condensation", args=[attempt.conversation_id, attempt.pk])
    page = (await sync_to_async(browser.get)(address)).content.decode()
    assert "Predicted tokens" in page
    assert "Predicted cost" in page


def test_a_call_without_an_answer_leaves_nothing_in_the_cache(
    alice: User, profile: Profile
) -> None:
    """Nor does one of another conversation, or one of long ago."""
    conversation, other = (
        conversations.start_conversation(owner=alice, profile=profile) for _ in range(2)
    )
    expected = engine.Usage(input=10, output=5, cache_read=1_000)

    terms = run_in(conversation)

    def cached() -> int:
        return predict(terms, expected, unchanged=True).cache_read

    def call(where: Conversation, minutes: int, tokens: int) -> None:
        made = ModelCall.objects.create(
            conversation=where, purpose="chat", model=profile.model, tokens_output=tokens
        )
        at = timezone.now() - timedelta(minutes=minutes)
        ModelCall.objects.filter(pk=made.pk).update(created_at=at)

    call(conversation, 0, 0)
    call(conversation, 60, 7)
    call(other, 0, 7)
    assert cached() == 0
    call(conversation, 0, 7)
    assert cached() == 1_000


async def test_nothing_is_read_from_a_cache_of_what_has_changed(
    alice: User, profile: Profile
) -> None:
    """After a rewind, no call has sent what the next one begins with, as far as is known."""
    conversation = await sync_to_async(conversations.start_conversation)(
        owner=alice, profile=profile
    )
    async with open_page(conversation, alice) as page:
        for number in range(4):
            await page.say(f"{number} {LONG}")
            await page.until_idle()
        await sync_to_async(rewind.rewind_conversation)(conversation=conversation, to_seq=7)
        await page.send("condense.start")
        await page.until_idle()
    attempt = await Condensation.objects.aget(conversation=conversation)
    assert attempt.predicted is not None
    assert attempt.predicted.cache_read == 0
    assert attempt.predicted.cache_write > 1_000


async def test_where_no_model_is_called_nothing_is_predicted(
    alice: User, profile: Profile, browser: Client
) -> None:
    """The ledger costs nothing, and its page says so."""
    await Preferences.objects.filter(owner=alice).aupdate(strategy="ledger")
    attempt = await condense(profile, alice)
    assert attempt.predicted is None
    assert attempt.predicted_cost is None
    address = reverse("condensation", args=[attempt.conversation_id, attempt.pk])
    page = (await sync_to_async(browser.get)(address)).content.decode()
    assert "No model was called for this." in page
