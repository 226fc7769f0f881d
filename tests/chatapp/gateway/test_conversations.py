"""Conversations: each session of a client is one, whatever its requests are like."""

import asyncio
import itertools
import random
from collections import Counter
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client as Browser

import condense
from chatapp.gateway import store
from chatapp.models import Profile, Rewind, ServerSettings
from tests.chatapp.audited import problems
from tests.chatapp.gateway.clients import Client, mains, reply_with, told_by
from tests.chatapp.gateway.programs import token_of
from tests.chatapp.records.transfer.lives import read as read_file
from tests.chatapp.records.transfer.lives import write
from tests.standin.raw_server import RawServer

FIRST = ("Fix the tests.", "What is this project?", "hello")


@pytest.fixture
def answers(upstream: RawServer) -> RawServer:
    """A server half of whose answers are the same."""
    numbers = itertools.count(1)
    odd = itertools.cycle([False, True])
    upstream.default = lambda _body: reply_with("OK." if next(odd) else f"Answer {next(numbers)}.")
    return upstream


async def play(answers: RawServer, tokens: list[str], sessions: int, seed: int) -> list[Client]:
    """Return clients whose sessions were played one step of one at a time."""
    dice = random.Random(seed)  # noqa: S311
    random.seed(seed)
    styles = ("claude", "metadata", "opencode", "codex", "webui", "plain")
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
        elif act < 0.2:
            await dice.choice([one.suggest, one.delegate])(text)
        elif act < 0.3:
            await one.edit(text)
        elif act < 0.35:
            await one.compact(text)
        else:
            other = dice.choice([each for each in clients if each != one])
            await asyncio.gather(
                *[each.say(text if each.history else each.first) for each in (one, other)]
            )
    return clients


@pytest.mark.parametrize(
    ("sessions", "seed"),
    [(6, 1), *[pytest.param(*one, marks=pytest.mark.soak) for one in ((6, 2), (200, 3))]],
)
async def test_no_request_joins_another_session(
    answers: RawServer, token: str, alice: User, bob: User, sessions: int, seed: int
) -> None:
    """Each session is one conversation of its owner's, which shows what its client has."""

    def second() -> str:
        settings = ServerSettings.read()
        settings.requests_per_minute = None
        settings.save()
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
    answers: RawServer, token: str, browser: Browser, bob: User, tmp_path: Path
) -> None:
    """A title that was asked for first stands beside it, in the archive; its file can be read."""
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
        made = read_file(write(talk), bob, tmp_path)
        assert told_by(made) == one.history
        assert problems(talk) == problems(made) == []
        return browser.get(f"/c/{talk.pk}/").content.decode()

    shown = await sync_to_async(read)()
    assert "The client replaced its history" in shown
    assert "Go on." in shown
    assert "Side request:" in shown


class WatchedCounter(condense.PromptCounter):
    """A counter that notes what it counts, and whether a transaction is open meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: list[tuple[str, bool]] = []

    def count(self, content: condense.Content) -> int:
        """Count as usual."""
        said = "".join([one.text for one in content if isinstance(one, condense.TextBlock)])
        self.counted.append((said, connection.in_atomic_block))
        return super().count(content)


async def test_what_is_said_is_counted_before_others_have_to_wait(
    upstream: RawServer, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long text takes seconds, in which nobody could write: each is counted once."""
    watched = WatchedCounter()
    monkeypatch.setattr(store, "_COUNTER", condense.CachedCounter(watched))
    client = Client(upstream, token, "plain")
    for number in range(2):
        upstream.script.append(reply_with(f"Answer {number}."))
        await client.say(f"Words {number}.")
    said = ["Words 0.", "Answer 0.", "Words 1.", "Answer 1."]
    assert watched.counted == [(text, False) for text in said]
