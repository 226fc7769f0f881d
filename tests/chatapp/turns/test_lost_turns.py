"""A process that lost its turn, as one that was frozen meanwhile, writes nothing more.

It is frozen at a write that fails, which it makes again until the database takes it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chatapp.models import Conversation, ModelCall, Preferences
from tests.chatapp.claude import converse
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.condensing.review_steps import answer, until_shown
from tests.chatapp.sockets import Page
from tests.chatapp.storage_faults import broken
from tests.chatapp.turns.losses import (
    LOSSES,
    can_be_frozen,
    lose_turn,
    nothing_was_stored_since,
    until_frozen,
)
from tests.standin.behaviours import UNAUTHORIZED, Behaviour, Gate, Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"


@dataclass
class Scene:
    """A long conversation, its page, and who answers."""

    conversation: Conversation
    page: Page
    standin: Standin
    browser: Client


Begin = Callable[[Scene], Awaitable[None]]


def say(*replies: Behaviour) -> Begin:
    """Have a message answered so."""

    async def begin(scene: Scene) -> None:
        scene.standin.then(*replies)
        await scene.page.say("Go on.")

    return begin


def condense(*replies: Behaviour, **fields: Any) -> Begin:
    """Have the conversation condensed, with such a summary."""

    async def begin(scene: Scene) -> None:
        scene.standin.then(*replies)
        await scene.page.send("condense.start", **fields)

    return begin


def call(name: str, **given: str) -> Begin:
    """Have the model call a tool."""
    return say(Reply(tools=(ToolCall(name, given),)), Reply("Done."))


async def withdraw(scene: Scene) -> None:
    """Stop a call while it is put on record, before it is made."""
    async with broken("INSERT ON chatapp_modelcall", name="opening"):
        await say()(scene)
        await until_frozen(scene.page)
        await scene.page.send("turn.stop")
        await scene.page.send("ping")
        await scene.page.until("pong")
    while not await ModelCall.objects.aexists():
        pass


async def cancel(scene: Scene) -> None:
    """Cancel a condensation while its summary is written."""
    await condense(Reply(SUMMARY, gate=(gate := Gate())))(scene)
    assert await asyncio.to_thread(gate.wait_until_reached)
    await scene.page.send("condense.cancel")
    gate.open()


async def accept(scene: Scene) -> None:
    """Accept a summary that waits for a person."""
    await condense(Reply(SUMMARY), review=True)(scene)
    review = await until_shown(scene.page)
    await answer(scene.browser, review, "accept", summary=review.shown)


async def expire(scene: Scene) -> None:
    """Let nobody review a summary in time."""
    await Preferences.objects.aupdate(review_automatic=True, review_seconds=0, threshold=30)
    await say(Reply(SUMMARY), Reply("Done."))(scene)


# Where a process is frozen: at a write, of which row, and how it comes to that.
WRITES: dict[str, tuple[str, str, Begin]] = {
    "a call that begins": ("INSERT ON chatapp_modelcall", "", say()),
    "a call that is withdrawn": ("DELETE ON chatapp_modelcall", "", withdraw),
    "a call that failed": (
        "UPDATE ON chatapp_modelcall", "NEW.status <> 'running'", say(UNAUTHORIZED),
    ),
    "a reply": ("INSERT ON chatapp_message", "NEW.role = 'assistant'", say(Reply("So."))),
    "a tool that begins": ("INSERT ON chatapp_toolrun", "", call("list_files")),
    "what a tool returned": ("UPDATE ON chatapp_toolrun", "", call("list_files")),
    "results": ("INSERT ON chatapp_message", "NEW.seq = 7", call("list_files")),
    "files before a change": (
        "INSERT ON chatapp_checkpoint", "", call("write_file", path="a.txt", content="new"),
    ),
    "a question": ("INSERT ON chatapp_question", "", call("ask_user", question="Which?")),
    "what the provider counted": (
        "UPDATE ON chatapp_conversation",
        "NEW.measured_tokens IS NOT NULL AND OLD.measured_tokens IS NULL",
        condense(),
    ),
    "an attempt to condense": ("INSERT ON chatapp_condensation", "", condense()),
    "a call for a summary": ("INSERT ON chatapp_modelcall", "", condense()),
    "a summary": (
        "UPDATE ON chatapp_condensation", "NEW.status = 'succeeded'", condense(Reply(SUMMARY)),
    ),
    "an attempt that failed": (
        "UPDATE ON chatapp_condensation", "NEW.status = 'failed'", condense(UNAUTHORIZED),
    ),
    "an attempt that was cancelled": (
        "UPDATE ON chatapp_condensation", "NEW.status = 'cancelled'", cancel,
    ),
    "a summary to be reviewed": (
        "INSERT ON chatapp_review", "", condense(Reply(SUMMARY), review=True),
    ),
    "what follows a review": (
        "UPDATE ON chatapp_turn", "OLD.status = 'waiting' AND NEW.status = 'running'", accept,
    ),
    "a review that nobody answered": (
        "UPDATE ON chatapp_review", "NEW.status = 'expired'", expire,
    ),
}  # fmt: skip


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin, short_summaries: None) -> Conversation:
    """A conversation of four messages, long enough to be condensed; its files may be written."""
    conversation = converse(alice, anthropic_standin, context_window=16_000, max_output=1_000)
    Conversation.objects.update(tool_policies={"write_file": "allow"})
    return talk_long(conversation)


@pytest.fixture
def scene(
    conversation: Conversation,
    page: Page,
    anthropic_standin: Standin,
    browser: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> Scene:
    """A process that makes its writes again at once, and takes nobody for gone."""
    can_be_frozen(monkeypatch)
    return Scene(conversation, page, anthropic_standin, browser)


@pytest.mark.parametrize(
    ("write", "loss"),
    [
        pytest.param(write, loss, marks=[pytest.mark.rare] if (one - other) % 4 else [])
        for one, write in enumerate(WRITES)
        for other, loss in enumerate(LOSSES)
    ],
)
async def test_a_process_that_lost_its_turn_writes_nothing_more(
    scene: Scene, write: str, loss: str
) -> None:
    """However it was lost: the next write fails, and all of its transaction with it."""
    where, when, begin = WRITES[write]
    async with broken(where, when):
        await begin(scene)
        await until_frozen(scene.page)
        before = await lose_turn(loss)
    await nothing_was_stored_since(before, scene.page)


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
async def test_a_stream_of_a_turn_that_was_lost_stores_nothing(
    scene: Scene, loss: str, stops: bool
) -> None:
    """No word that came since, no answer and no end; what was put off by its turn still is."""
    gate = Gate()
    await Preferences.objects.aupdate(threshold=50)
    await scene.page.send("condense.put_off")
    await scene.page.until("panel.changed")
    scene.standin.then(Reply("One two three four five six.", gate=gate))
    await scene.page.begin("Count.")
    while not await ModelCall.objects.exclude(pieces=None).aexists():
        pass
    before = await lose_turn(loss)
    if stops:
        await scene.page.send("turn.stop")
    gate.open()
    await nothing_was_stored_since(before, scene.page)
    assert (await Conversation.objects.aget()).put_off
