"""Conversations begun and messages sent by programs, and the turn that they hear."""

import json
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chatapp.accounts import accounts
from chatapp.models import Conversation, Message, Profile, Turn
from tests.chatapp.api.programs import Sender, bearer, read
from tests.standin.behaviours import UNAUTHORIZED, Gate, Reply
from tests.standin.server import Standin


@pytest.mark.django_db(transaction=True)
async def test_a_turn_is_heard_from_its_message_to_its_end(
    sender: Sender, anthropic_standin: Standin
) -> None:
    """The text as it comes, each message as it is stored, and how it ended; no other one begins."""
    gate = Gate()
    anthropic_standin.then(Reply("It is noon.", gate=gate))
    answer = await sender.send("What time is it?\ud800")
    assert answer["Content-Type"] == "text/event-stream"
    stream = read(answer.streaming_content)
    told = [await anext(stream)]
    assert told[0][0] == "message"
    assert told[0][1]["content"][-1]["text"] == "What time is it?\ufffd"
    assert not await Turn.objects.exclude(finished_at=None).aexists()
    [(name, refusal)] = await sender.hear("And now?")
    assert (name, set(refusal)) == ("refused", {"detail"})
    gate.open()
    told += [one async for one in stream]
    assert "".join(one["text"] for name, one in told if name == "text") == "It is noon."
    answer = [one for name, one in told if name == "message"][-1]
    assert (answer["role"], answer["seq"]) == ("assistant", 2)
    assert told[-1] == ("end", {"status": "succeeded", "error": "", "last_seq": 2})


@pytest.mark.django_db(transaction=True)
async def test_the_same_message_sent_twice_begins_one_turn(
    sender: Sender, anthropic_standin: Standin
) -> None:
    """The second time, only how it ended is told; a failed one says why."""
    anthropic_standin.then(Reply("Welcome."), UNAUTHORIZED)
    nonce = str(uuid.uuid4())
    first = await sender.hear("Hello.", nonce=nonce)
    assert await sender.hear("Hello.", nonce=nonce) == first[-1:]
    assert await Message.objects.acount() == 2
    name, end = (await sender.hear("Hello again."))[-1]
    assert (name, end["status"], "key" in end["error"]) == ("end", "failed", True)


@pytest.mark.django_db(transaction=True)
async def test_what_is_refused_begins_nothing(sender: Sender) -> None:
    """The reason comes instead of a stream."""
    answer = await sender.send("   ")
    assert answer.status_code == 409
    assert set(answer.json()) == {"detail"}
    for body in ("", "[" * 10_000, '{"text": 1}', "[]"):
        answer = await sender.post(body)
        assert answer.status_code in {400, 422}, body
        assert isinstance(answer.json()["detail"], str)
    assert not await Turn.objects.aexists()


def test_a_program_begins_a_conversation(alice: User, bob: User) -> None:
    """With a title and a profile of its user's, and of nobody else's."""
    client = Client(headers=bearer(alice))
    profile = accounts.preferences_of(alice).default_profile
    foreign = accounts.preferences_of(bob).default_profile
    assert profile
    assert foreign

    def begin(**body: Any) -> Any:
        return client.post("/api/conversations", json.dumps(body), content_type="application/json")

    answer = begin(title="Nightly report", profile=profile.pk)
    assert answer.status_code == 201
    made = Conversation.objects.get(pk=answer.json()["id"])
    assert (made.owner, made.title, made.profile) == (alice, "Nightly report", profile)
    assert begin().json()["profile"] == profile.pk
    assert begin(profile=foreign.pk).status_code == 404
    assert begin(profile=10**30).status_code in {404, 422}
    assert Profile.objects.count() == 2
