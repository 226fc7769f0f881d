"""Conversations begun and messages sent by programs, and the turn that they hear."""

import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from chatapp.accounts import accounts, credentials
from chatapp.models import Conversation, Message, Profile, Turn
from tests.chatapp.claude import converse
from tests.standin.behaviours import UNAUTHORIZED, Gate, Reply
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]

pytestmark = pytest.mark.django_db(transaction=True)

Told = tuple[str, dict[str, Any]]


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin) -> Conversation:
    """A conversation that the stand-in answers."""
    return converse(alice, anthropic_standin)


def bearer(owner: User, scope: str = "write") -> dict[str, str]:
    """Return the header that lets a program of somebody's in."""
    token = credentials.create_api_token(owner=owner, name="script", scope=scope)
    return {"Authorization": f"Bearer {token}"}


class Sender:
    """A program of Alice's that sends messages to a conversation and hears the turns."""

    def __init__(self, conversation: Conversation) -> None:
        self.path = f"/api/conversations/{conversation.pk}/messages"
        self.headers = bearer(conversation.owner)

    async def post(self, body: str) -> Any:
        """Return the answer to whatever is sent."""
        return await AsyncClient().post(
            self.path, body, content_type="application/json", headers=self.headers
        )

    async def send(self, text: str, **more: Any) -> Any:
        """Return the answer to a message, unread."""
        return await self.post(json.dumps({"text": text, **more}))

    async def hear(self, text: str, **more: Any) -> list[Told]:
        """Return all that is told until the turn has ended."""
        answer = await self.send(text, **more)
        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/event-stream"
        return [told async for told in read(answer.streaming_content)]


async def read(stream: AsyncIterator[bytes]) -> AsyncIterator[Told]:
    """Yield the events of a stream; none is in two parts."""
    async for part in stream:
        if part.startswith(b":"):
            continue
        name, data = part.decode().removesuffix("\n\n").split("\n")
        yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@pytest.fixture
def sender(conversation: Conversation) -> Sender:
    """A program that may write."""
    return Sender(conversation)


async def test_a_turn_is_heard_from_its_message_to_its_end(
    sender: Sender, anthropic_standin: Standin
) -> None:
    """The text as it comes, each message as it is stored, and how it ended."""
    anthropic_standin.then(Reply("It is noon."))
    told = await sender.hear("What time is it?\ud800")
    assert told[0][0] == "message"
    assert told[0][1]["content"][-1]["text"] == "What time is it?\ufffd"
    assert "".join(one["text"] for name, one in told if name == "text") == "It is noon."
    answer = [one for name, one in told if name == "message"][-1]
    assert (answer["role"], answer["seq"]) == ("assistant", 2)
    assert told[-1] == ("end", {"status": "succeeded", "error": "", "last_seq": 2})


async def test_what_is_written_is_heard_while_it_is_written(
    sender: Sender, anthropic_standin: Standin
) -> None:
    """Before the model has ended; meanwhile another message is refused."""
    gate = Gate()
    anthropic_standin.then(Reply("It is noon, I think.", gate=gate))
    answer = await sender.send("What time is it?")
    stream = read(answer.streaming_content)
    assert (await anext(stream))[0] == "message"
    assert not await Turn.objects.exclude(finished_at=None).aexists()
    [(name, refusal)] = await sender.hear("And now?")
    assert (name, set(refusal)) == ("refused", {"detail"})
    gate.open()
    assert [name async for name, _ in stream][-1] == "end"


async def test_a_failed_turn_says_why(sender: Sender, anthropic_standin: Standin) -> None:
    """At its end, as a sentence."""
    anthropic_standin.then(UNAUTHORIZED)
    name, end = (await sender.hear("Hello."))[-1]
    assert (name, end["status"]) == ("end", "failed")
    assert "key" in end["error"]


async def test_the_same_message_sent_twice_begins_one_turn(
    sender: Sender, anthropic_standin: Standin
) -> None:
    """The second time, only how it ended is told."""
    anthropic_standin.then(Reply("Welcome."))
    nonce = str(uuid.uuid4())
    first = await sender.hear("Hello.", nonce=nonce)
    assert await sender.hear("Hello.", nonce=nonce) == first[-1:]
    assert await Message.objects.acount() == 2


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


async def test_a_token_that_may_only_read_writes_nothing(
    sender: Sender, conversation: Conversation, alice: User
) -> None:
    """It is told so."""
    headers = await sync_to_async(bearer)(alice, "read")
    for path in (sender.path, "/api/conversations"):
        answer = await AsyncClient().post(
            path, "{}", content_type="application/json", headers=headers
        )
        assert (answer.status_code, answer.json()["detail"]) == (403, "This token may only read.")
    assert await Conversation.objects.acount() == 1


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
