"""How much of a prompt is read from the provider's cache, through every vendor's door."""

import pytest
from django.contrib.auth.models import User

from chatapp.conversations import conversations
from chatapp.models import Conversation, ModelCall, Preferences
from tests.chatapp.claude import answered_by
from tests.chatapp.providers.doors import DOORS, Door
from tests.chatapp.sockets import Page
from tests.long_texts import filler
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

LONG = filler(2_500)


@pytest.fixture(params=DOORS, ids=lambda door: door.name)
def conversation(
    request: pytest.FixtureRequest, alice: User, anthropic_standin: Standin
) -> Conversation:
    """A conversation through one of the doors."""
    door: Door = request.param
    profile = answered_by(alice, door.name, door.model, door.url(anthropic_standin))
    return conversations.start_conversation(owner=alice, profile=profile)


async def calls_of(conversation: Conversation) -> list[ModelCall]:
    """Return the conversation's calls, in the order in which they were made."""
    return [one async for one in ModelCall.objects.filter(conversation=conversation).order_by("pk")]


def share(call: ModelCall) -> float:
    """Return how much of a call's prompt was read from the cache."""
    return call.tokens_cache_read / call.tokens_prompt


async def test_from_the_third_turn_on_nine_tenths_of_a_prompt_are_read_from_the_cache(
    alice: User, anthropic_standin: Standin, conversation: Conversation, page: Page
) -> None:
    """Tools in between or not, also where the model thinks, and whatever it is told beside."""
    await Preferences.objects.filter(owner=alice).aupdate(environment_details=True)
    for number in range(3):
        anthropic_standin.then(Reply(f"Answer {number}.", thinking="Hm. Let me see."))
        await page.ask(LONG if number < 1 else f"Question {number}?")
    await page.ask('call list_files {"path": "."}')
    await page.ask("And?")
    _, _, *later = await calls_of(conversation)
    assert len(later) == 4
    assert min(map(share, later)) >= 0.9
    assert {call.cache_miss for call in later} == {""}
    assert anthropic_standin.problems == []
