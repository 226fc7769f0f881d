"""What a server has refused is kept with the profile, and its reasoning with the conversation."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chatapp.conversations import conversations, forks
from chatapp.models import Conversation, ModelCall, Profile, accounts
from tests.chatapp.claude import answered_by
from tests.chatapp.conftest import summarise
from tests.chatapp.records.transfer import lives
from tests.chatapp.sockets import open_page
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin
from tests.standin.vendors import MESSAGES, VENDORS

THOUGHT = "I should look at the files first."
ASKED = Reply(tools=(ToolCall("list_files", {"path": "."}),), thinking=THOUGHT)


def talk_with(owner: User, standin: Standin, door: str) -> Conversation:
    """Return a conversation with a server that wants its reasoning back, and says little."""
    standin.vendor = VENDORS[0] if door == "openai" else MESSAGES[0]
    url = standin.url + ("/v1" if door == "openai" else "")
    profile = answered_by(owner, door, "deepseek-v5", url, max_output=1_000)
    profile.save()
    return conversations.start_conversation(owner=owner, profile=profile)


async def ask(conversation: Conversation, owner: User, *texts: str) -> None:
    """Say something on the conversation's page, and wait for the answers."""
    async with open_page(conversation, owner) as page:
        for text in texts:
            await page.say(text)
            await page.until_idle()


def copies_of(talk: Conversation, owner: User, folder: Path) -> list[str]:
    """Return what thoughts of a conversation say, there, in a fork and after an import."""
    fork = forks.fork_conversation(
        conversation=talk, seq=Conversation.objects.get(pk=talk.pk).last_seq
    )
    read = lives.read(lives.write(talk), owner, folder)
    return [
        json.dumps([one.content for one in copy.messages.order_by("seq") if one.role != "user"])
        for copy in (talk, fork, read)
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", ["openai", "anthropic"])
async def test_what_was_refused_is_not_tried_again_and_reasoning_survives(
    alice: User, browser: Client, anthropic_standin: Standin, tmp_path: Path, door: str
) -> None:
    """Through storage, other turns, condensing, a fork and an export; each call is accounted."""
    standin = anthropic_standin
    talk = await sync_to_async(talk_with)(alice, standin, door)
    standin.then(ASKED)
    await ask(talk, alice, "look", "again")
    refused = [one for one in standin.requests if one.problems]
    calls = [one async for one in ModelCall.objects.filter(conversation=talk)]
    assert (len(refused), len(calls)) == (1, len(standin.requests))
    profile = await Profile.objects.aget(pk=talk.profile_id)
    known = {"max_output": 800} if door == "openai" else {"marks": False}
    assert profile.refused == known
    await sync_to_async(summarise)(talk, keep=5)
    await ask(await Conversation.objects.aget(pk=talk.pk), alice, "And now?")
    assert THOUGHT in json.dumps(standin.requests[-1].body)
    assert sum(bool(one.problems) for one in standin.requests) == 1
    copies = await sync_to_async(copies_of)(talk, alice, tmp_path)
    assert THOUGHT in copies[0] == copies[1] == copies[2]
    address = reverse("edit_profile", args=[profile.pk])
    shown = await sync_to_async(browser.get)(address)
    assert ("max_tokens &gt; 800" if door == "openai" else "cache_control") in shown.text


def test_refusals_are_forgotten_when_the_profile_is_saved_and_after_a_week(alice: User) -> None:
    """So is a server that takes more by then; a shared profile's are those of all its copies."""
    profile = answered_by(alice, "anthropic", "m", "http://127.0.0.1:9")
    profile.keep_refused({"marks": False})
    profile.keep_refused({**profile.refused, "max_output": 800})
    fresh = Profile.objects.get(pk=profile.pk)
    assert fresh.refused == {"marks": False, "max_output": 800}
    fresh.learnt["until"] = (timezone.now() - timedelta(seconds=1)).isoformat()
    assert fresh.refused == {}
    Profile.objects.get(pk=profile.pk).save()
    assert Profile.objects.get(pk=profile.pk).refused == {}
    copy = Profile(owner=alice, name="Copy", origin=profile, **profile.copied)
    profile.keep_refused({"marks": False})
    known: Any = accounts.provider_for(copy)
    assert known._refused == {"marks": False}
