"""Conversations: each session of a client is one, whatever its requests are like."""

import itertools
import json
import random
import uuid
from collections import Counter
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client as Browser

from chatapp.models import Conversation, Profile, Rewind
from tests.chatapp.gateway.programs import body_of, said_in, token_of, visit
from tests.standin.raw_server import RawServer, Script

TOOLS = [
    {"name": name, "description": "x", "input_schema": {}} for name in ("Read", "Edit", "Task")
]
SYSTEM = [{"type": "text", "text": "You are an agent.\nBe brief.\nUse tools."}]
FIRST = ("Fix the tests.", "What is this project?", "hello")


def reply_with(text: str) -> Script:
    """Return an answer of the Messages API that says a text."""
    content = [{"type": "text", "text": text}]
    told = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant"}
    told |= {"content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 1}}
    return Script([json.dumps(told).encode()], headers=("content-type: application/json",))


class Client:
    """A session of a program: what it sends, and what it believes was said."""

    def __init__(self, upstream: RawServer, token: str, style: str, first: str = "") -> None:
        self.upstream, self.token, self.style = upstream, token, style
        self.session = str(uuid.uuid4())
        self.history: list[tuple[str, str]] = []
        self.first = first
        # The request for a title, which is all there is of some sessions.
        self.named: list[tuple[str, str]] = []

    @property
    def headers(self) -> dict[str, str]:
        """What names the session, if anything does."""
        names = {"claude": "x_claude_code_session_id", "opencode": "x_session_affinity"}
        return {names[self.style]: self.session} if self.style in names else {}

    def messages(self) -> list[dict[str, Any]]:
        """Return the history as this program writes it: marks and reminders move."""
        made = []
        for number, (role, text) in enumerate(self.history):
            block: dict[str, Any] = {"type": "text", "text": text}
            if number == len(self.history) - 1:
                block["cache_control"] = {"type": "ephemeral"}
            blocks = [block]
            if number == 0 and self.style == "claude":
                day = f"<system-reminder>\nIt is {random.random()}.\n</system-reminder>"  # noqa: S311
                blocks.insert(0, {"type": "text", "text": day})
            made.append({"role": role, "content": blocks})
        return made

    async def post(self, messages: list[dict[str, Any]], **more: Any) -> str:
        """Send a request, and return the words of the answer."""
        about: dict[str, Any] = {"model": "claude-opus-5", "system": SYSTEM, "tools": TOOLS}
        if self.style == "metadata":
            name = json.dumps({"device_id": "d", "session_id": self.session})
            about["metadata"] = {"user_id": name}
        body = body_of(**about | more, messages=messages)
        answer = await visit("/v1/messages", self.token, body, **self.headers)
        return str(json.loads(answer.body)["content"][0]["text"])

    async def say(self, text: str) -> None:
        """Go on with a message."""
        self.history.append(("user", text))
        self.history.append(("assistant", await self.post(self.messages())))

    async def retry(self) -> None:
        """Ask for the last answer again."""
        # Without a name, an answered question alone is anybody's.
        if self.history[2 * (self.style == "plain") :]:
            del self.history[-1]
            self.history.append(("assistant", await self.post(self.messages())))

    async def edit(self, text: str) -> None:
        """Go back to an earlier message, and say something else there."""
        places = [n for n, (role, _text) in enumerate(self.history) if role == "user" and n]
        if places:
            del self.history[random.choice(places) :]  # noqa: S311
            await self.say(text)

    async def compact(self, text: str) -> None:
        """Put a summary in place of the whole history."""
        if self.style != "plain" and self.history:
            said = f"This session is being continued from a previous conversation. {text}"
            self.history = [("user", said)]
            self.history.append(("assistant", await self.post(self.messages())))

    async def title(self) -> None:
        """Ask for a title beside the talk, with its first words."""
        if self.style != "plain":
            asked = [{"role": "user", "content": self.first or "Name this."}]
            more: Any = {"system": "Name the talk.", "tools": [], "model": "claude-haiku-5"}
            self.named = [
                ("user", asked[0]["content"]),
                ("assistant", await self.post(asked, **more)),
            ]


@pytest.fixture
def answers(upstream: RawServer) -> RawServer:
    """A server whose answers are all different."""
    numbers = itertools.count(1)
    upstream.default = lambda _body: reply_with(f"Answer {next(numbers)}.")
    return upstream


def mains() -> list[Conversation]:
    """Return the conversations that stand beside no other."""
    return [*Conversation.objects.filter(client__parent=None).order_by("created_at")]


def told_by(conversation: Conversation) -> list[tuple[str, str]]:
    """Return the words of a conversation as its client has them, without reminders."""
    said = said_in(conversation)
    return [(role, text.split("</system-reminder>")[-1].strip()) for role, text in said]


async def play(answers: RawServer, tokens: list[str], sessions: int, seed: int) -> list[Client]:
    """Return clients whose sessions were played one step of one at a time."""
    dice = random.Random(seed)  # noqa: S311
    random.seed(seed)
    styles = ("claude", "metadata", "opencode", "plain")
    clients = [
        Client(answers, dice.choice(tokens), dice.choice(styles), dice.choice(FIRST))
        for _number in range(sessions)
    ]
    # Two users whose clients call their sessions the same.
    clients[0].style = clients[1].style = "claude"
    clients[0].session = clients[1].session
    clients[0].token, clients[1].token = tokens
    for number in range(sessions * 5):
        one = dice.choice(clients)
        steps = [one.title] * 2 if not one.history else [one.title, one.retry]
        text = f"Words {number}."
        act = dice.random()
        if act < 0.15:
            await dice.choice(steps)()
        elif act < 0.25:
            await one.edit(text)
        elif act < 0.3:
            await one.compact(text)
        else:
            await one.say(text if one.history else one.first)
    return clients


@pytest.mark.parametrize(
    ("sessions", "seed"), [(6, 1), (6, 2), pytest.param(200, 3, marks=pytest.mark.soak)]
)
async def test_no_request_joins_another_session(
    answers: RawServer, token: str, alice: User, bob: User, sessions: int, seed: int
) -> None:
    """Each session is one conversation of its owner's, which shows what its client has."""

    def second() -> str:
        profile = Profile.objects.get(owner=alice, provider="anthropic")
        profile.pk, profile.owner = None, bob
        profile.save()
        return token_of(bob, profile)

    tokens = [token, await sync_to_async(second)()]
    clients = await play(answers, tokens, sessions, seed)

    def read() -> list[tuple[str, tuple[tuple[str, str], ...]]]:
        return [(one.owner.username, tuple(told_by(one))) for one in mains()]

    owners = dict(zip(tokens, ("alice", "bob"), strict=True))
    shown = [(one.token, tuple(one.history or one.named)) for one in clients]
    expected = Counter((owners[whose], said) for whose, said in shown if said)
    assert Counter(await sync_to_async(read)()) == expected


async def test_a_version_that_the_client_goes_back_to_is_shown_again(
    answers: RawServer, token: str
) -> None:
    """Nothing is stored twice."""
    one = Client(answers, token, "claude")
    for text in ("Begin.", "Left.", "On."):
        await one.say(text)
    left, one.history = one.history, one.history[:2]
    await one.say("Right.")
    one.history = left
    await one.say("More.")

    def read() -> tuple[list[tuple[str, str]], int, list[str]]:
        (talk,) = mains()
        causes = [str(rewind.cause) for rewind in Rewind.objects.order_by("created_at")]
        return told_by(talk), talk.last_seq, causes

    assert await sync_to_async(read)() == (one.history, 10, ["edited", "edited"])


async def test_a_history_that_its_client_replaced_is_a_row_with_the_originals(
    answers: RawServer, token: str, browser: Browser
) -> None:
    """A title that was asked for first stands beside it, in the archive."""
    one = Client(answers, token, "opencode", "Begin.")
    await one.title()
    await one.say("Begin.")
    await one.say("Go on.")
    await one.compact("All of it.")

    def read() -> str:
        (talk,) = mains()
        (side,) = talk.side_requests.all()
        assert side.conversation.archived_at
        assert told_by(talk) == one.history
        return browser.get(f"/c/{talk.pk}/").content.decode()

    shown = await sync_to_async(read)()
    assert "The client replaced its history" in shown
    assert "Go on." in shown
    assert "Side request:" in shown
