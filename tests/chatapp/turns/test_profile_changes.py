"""Another profile in mid-conversation: what one vendor wrote, the next one can read."""

from dataclasses import dataclass
from itertools import combinations

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, ModelCall, Profile, message_store
from tests.chatapp.claude import answered_by
from tests.chatapp.providers.doors import DOORS
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
NAMES = [*(door.name for door in DOORS), "offline"]
PAIRS = [*combinations(NAMES, 2)]
# What another vendor's server, an older version or an import may have left.
STRANGE = (
    condense.Message("user", (condense.TextBlock("Look"), condense.ImageBlock(PIXEL))),
    condense.Message(
        "assistant",
        condense.content_from_api(
            [
                {"type": "thinking", "thinking": "Signed elsewhere.", "signature": "x" * 40},
                {"type": "thinking", "thinking": "Not signed."},
                {"type": "hologram", "data": "x"},
                {"type": "text", "text": "Seen.", "mood": "calm"},
                {
                    "type": "tool_use",
                    "id": f"call/{'7' * 60}",
                    "name": "look at all",
                    "input": {},
                    "extra_content": {"google": {"thought_signature": "abc"}},
                },
            ]
        ),
    ),
    condense.Message(
        "user", (condense.ToolResultBlock(f"call/{'7' * 60}", (condense.ImageBlock(PIXEL),), True),)
    ),
    condense.Message("assistant", "So."),
)


@dataclass
class Talk:
    """A conversation on a page, and who may answer in it."""

    page: Page
    conversation: Conversation
    profiles: dict[str, Profile]
    browser: Client

    async def ask(self, provider: str, text: str) -> None:
        """Say something to a provider, and wait for the end of its turn."""
        address = reverse("choose_profile", args=[self.conversation.pk])
        sent = {"profile": self.profiles[provider].pk}
        await sync_to_async(self.browser.post)(address, sent)
        await self.page.say(text)
        await self.page.until_idle()


def profiles_of(owner: User, standin: Standin) -> dict[str, Profile]:
    """Return a profile for each provider, each with a window and prices of its own."""
    given = [(door.name, door.model, door.url(standin)) for door in DOORS]
    given.append(("offline", "offline", ""))
    return {
        name: answered_by(
            owner, name, model, url, context_window=20_000 + 10_000 * place, price_input=place
        )
        for place, (name, model, url) in enumerate(given)
    }


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_what_one_vendor_wrote_the_next_one_answers(
    alice: User, browser: Client, anthropic_standin: Standin, first: str, second: str
) -> None:
    """Thinking, calls, images, ids and blocks of any kind; and back again, in the same loop."""
    profiles = await sync_to_async(profiles_of)(alice, anthropic_standin)
    conversation = await sync_to_async(conversations.start_conversation)(
        owner=alice, profile=profiles[first]
    )
    for message in STRANGE:
        await sync_to_async(message_store.append_message)(conversation.pk, message, tokens=10)
    async with open_page(conversation, alice) as page:
        talk = Talk(page, conversation, profiles, browser)
        for provider in (first, second, first):
            if provider != "offline":
                tools = (ToolCall("list_files", {"path": "."}, id="same"),)
                anthropic_standin.then(Reply("Hm.", thinking="Let me look.", tools=tools))
            await talk.ask(provider, "Go on")
    calls = [one async for one in ModelCall.objects.filter(conversation=conversation)]
    assert [call.error for call in calls] == [""] * len(calls)
    assert {call.model for call in calls} == {profiles[first].model, profiles[second].model}
    assert anthropic_standin.problems == []
