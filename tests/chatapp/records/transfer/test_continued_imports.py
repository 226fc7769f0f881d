"""A long conversation that was imported goes on here, and all that it asked can be shown again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from chatapp.models import Condensation, Conversation, Manifest, ModelCall, Preferences
from chatapp.storage.request_reader import RequestReader
from tests.chatapp.claude import answered_by
from tests.chatapp.providers.doors import DOORS, Door
from tests.chatapp.sockets import Page, open_page
from tests.chatapp.web.views.uploads import send
from tests.long_texts import filler
from tests.sessions import session
from tests.standin.behaviours import Behaviour, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

# 3,750 tokens; where the context begins at some 5,000 and condenses at 12,000, that is two turns.
LONG = filler(3_750)


class Thoughtful(Standin):
    """A stand-in that thinks before it answers."""

    def next(self, body: Mapping[str, Any]) -> Behaviour:
        """Return what a stand-in does, with a thought before it."""
        does = super().next(body)
        return replace(does, thinking="Hm. Let me see.") if isinstance(does, Reply) else does


@pytest.fixture
def anthropic_standin() -> Iterator[Standin]:
    """Whose requests are compared with what is on record, at the end of each test."""
    with Thoughtful(window=24_000) as standin:
        yield standin


@dataclass(frozen=True)
class Length:
    """How much of a conversation is imported, and how much of it is then said here."""

    imported: int
    compactions: int
    turns: int = 0
    condensations: int = 10


@pytest.fixture
def imported(
    alice: User, browser: Client, anthropic_standin: Standin, door: Door, length: Length
) -> Conversation:
    """What the page made of a session's file, in a window that is full after a few turns."""
    url = door.url(anthropic_standin)
    profile = answered_by(alice, door.name, door.model, url, context_window=24_000)
    Preferences.objects.filter(owner=alice).update(threshold=50, default_profile=profile)
    send(browser, ("session.jsonl", session(length.imported, length.compactions)))
    made = Conversation.objects.get(owner=alice)
    assert (made.profile, made.last_seq) == (profile, 4 * length.imported + length.compactions)
    return made


async def condensations(conversation: Conversation) -> int:
    """Return how many condensations succeeded here; those that were imported made no calls."""
    here = Condensation.objects.filter(status="succeeded", calls__conversation=conversation)
    return await here.values("pk").distinct().acount()


async def go_on(page: Page, conversation: Conversation, length: Length) -> None:
    """Talk, with a tool now and then, for so many turns and until there are condensations."""
    number, most = 0, max(length.turns, 6 * length.condensations)
    while number < length.turns or await condensations(conversation) < length.condensations:
        number += 1
        assert number <= most
        await page.say(LONG if number % 3 else 'call list_files {"path": "."}')
        await page.until_idle()


def rebuilt(conversation: Conversation) -> list[bytes]:
    """Return every request of a conversation, put together from what is stored."""
    manifests = Manifest.objects.filter(call__conversation=conversation).order_by("pk")
    return [RequestReader(conversation.pk).read(one) for one in manifests]


# What each door is sent besides words.
KINDS = {
    "anthropic": (b'"type":"tool_use"', b'"type":"image"', b'"type":"thinking"'),
    "openai": (b'"tool_calls"', b'"type":"image_url"'),
}
SHORT, LONGER = Length(50, 7, condensations=3), Length(100, 7, turns=200)
soak = pytest.mark.soak


@pytest.mark.parametrize(
    ("door", "length"),
    [
        pytest.param(DOORS[0], SHORT, id="50 imported"),
        *(pytest.param(one, LONGER, id=f"200 here, {one.name}", marks=soak) for one in DOORS),
    ],
)
async def test_every_request_after_condensations_is_rebuilt_as_it_was_received(
    imported: Conversation, alice: User, anthropic_standin: Standin, door: Door, length: Length
) -> None:
    """Byte for byte, in the order in which they came: tools, images and thoughts included."""
    async with open_page(imported, alice) as page:
        await go_on(page, imported, length)
    calls = [one async for one in ModelCall.objects.filter(manifest__isnull=False).order_by("pk")]
    shown = await sync_to_async(rebuilt)(imported)
    assert shown == [one.raw for one in anthropic_standin.requests]
    assert len(shown) == len(calls) > 2 * length.condensations
    assert {one.purpose for one in calls} == {"chat", "summary"}
    sent = b"".join(shown)
    assert all(kind in sent for kind in KINDS[door.name])
    await sync_to_async(call_command)("check_requests")
    assert anthropic_standin.problems == []
