"""A conversation with a real server, through the doors of both vendors' APIs that it has.

What so small a model says is never right: these tests state what becomes of it.
"""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

import condense
from chatapp.conversations import conversations
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Preferences,
    Profile,
    message_store,
)
from chatapp.models.accounts import provider_to_try
from chatapp.providers.model_servers import probe
from tests.chatapp.claude import answered_by
from tests.chatapp.conftest import summarise, use_tools
from tests.chatapp.sockets import open_page
from tests.real.conftest import WINDOW

pytestmark = [pytest.mark.soak, pytest.mark.django_db(transaction=True)]

DOORS = [("openai", "/v1"), ("anthropic", "")]
FACT = "The tower of Lund has 386 steps, said the guide, and nobody counted them twice. "


@pytest.fixture(params=DOORS, ids=[name for name, _ in DOORS])
def profile(request: pytest.FixtureRequest, alice: User, llama: str) -> Profile:
    """The model, through one of the doors."""
    name, path = request.param
    limits = {"context_window": WINDOW, "max_output": 60, "price_input": 0}
    return answered_by(alice, name, "smollm2", llama + path, **limits)


async def start(profile: Profile, *, about: int = 0, **changes: Any) -> Conversation:
    """Return a conversation with messages of some ``about`` tokens in it."""
    for name, value in changes.items():
        setattr(profile, name, value)
    await profile.asave()
    conversation = await sync_to_async(conversations.start_conversation)(
        owner=profile.owner, profile=profile
    )
    for number in range(about // 500):
        for role in ("user", "assistant"):
            message = condense.Message(role, f"{number}. {FACT * 12}")  # type: ignore[arg-type]
            await sync_to_async(message_store.append_message)(conversation.pk, message, tokens=250)
    return conversation


async def last_of(conversation: Conversation) -> Message:
    """Return the newest message."""
    found = await Message.objects.filter(conversation=conversation).order_by("seq").alast()
    assert found
    return found


async def calls_of(conversation: Conversation) -> list[ModelCall]:
    """Return the conversation's calls, in the order in which they were made."""
    return [one async for one in ModelCall.objects.filter(conversation=conversation).order_by("pk")]


async def test_the_server_says_what_it_can_do(profile: Profile) -> None:
    """It streams, tells what it used, and lists its model with the window that it has."""
    report = await probe(provider_to_try(profile))
    assert (report.failure, report.address, report.key) == ("", True, True)
    assert (report.streaming, report.usage) == (True, True)
    assert report.images is False or profile.provider == "anthropic"
    model = report.find_model("smollm2")
    assert model
    assert model.context_window == (WINDOW if profile.provider == "openai" else None)


async def test_it_answers_and_what_it_used_is_measured(profile: Profile, alice: User) -> None:
    """The second question finds the first in the server's cache."""
    conversation = await start(profile)
    async with open_page(conversation, alice) as page:
        for text in ("Say hello.", "And goodbye."):
            await page.say(text)
            await page.until_idle()
    calls = await calls_of(conversation)
    assert [call.error for call in calls] == [""] * len(calls)
    assert all(call.usage_measured and call.tokens_output for call in calls)
    assert calls[-1].tokens_cache_read > 0.5 * calls[-1].tokens_prompt
    assert (await last_of(conversation)).role == "assistant"


async def test_a_stop_is_heard_at_once_and_the_next_question_answered(
    profile: Profile, alice: User
) -> None:
    """What was written by then is kept."""
    conversation = await start(profile, max_output=1_600)
    async with open_page(conversation, alice) as page:
        await page.say("Tell me a very long story about a tower, and do not stop.")
        await page.until("text.streamed")
        await page.send("turn.stop")
        await page.until_idle()
        (call,) = await calls_of(conversation)
        assert call.error == "stopped"
        assert (await last_of(conversation)).stop_reason == "stopped"
        await page.say("Say hello.")
        await page.until_idle()
    assert (await calls_of(conversation))[-1].error == ""


async def test_a_conversation_with_tool_calls_goes_on(profile: Profile, alice: User) -> None:
    """The server takes calls, their results, and the tools of each request."""
    conversation = await start(profile, about=500)
    await sync_to_async(use_tools)(conversation, 2, "Let me look.")
    async with open_page(conversation, alice) as page:
        for text in ("What did the files say?", "List the files of the workspace."):
            await page.say(text)
            await page.until_idle()
    calls = await calls_of(conversation)
    assert [(call.purpose, call.error) for call in calls] == [("chat", "")] * len(calls)
    assert len(calls) >= 2
    assert {turn.status async for turn in conversation.turns.all()} == {"succeeded"}


@pytest.mark.parametrize(
    ("about", "window", "trigger"), [(7_000, WINDOW, "auto"), (9_000, 32_000, "forced")]
)
async def test_a_full_context_is_condensed_by_itself(
    profile: Profile, alice: User, about: int, window: int, trigger: str
) -> None:
    """Before the model is asked, and where the server's window is smaller than the profile's."""
    conversation = await start(profile, about=about, context_window=window)
    async with open_page(conversation, alice) as page:
        await page.say("How many steps has the tower?")
        await page.until_idle()
    calls = await calls_of(conversation)
    assert trigger == "auto" or "context" in calls[0].error
    assert (calls[-1].purpose, calls[-1].error) == ("chat", "")
    done = await Condensation.objects.filter(status="succeeded").afirst()
    assert done
    assert done.trigger == trigger
    assert done.tokens_after
    assert done.tokens_after < done.tokens_before
    assert (await last_of(conversation)).role == "assistant"


async def test_a_question_is_answered_from_what_was_hidden_long_ago(
    profile: Profile, alice: User
) -> None:
    """The passage, 150 messages back, stands beside the question; so small a model can read it."""
    await Preferences.objects.filter(owner=alice).aupdate(auto_recall=True)
    conversation = await start(profile)
    await sync_to_async(hide_long_talk)(conversation)
    async with open_page(conversation, alice) as page:
        await page.say("How many steps does the tower of Lund have? Answer with the number.")
        await page.until_idle()
    assert "386" in message_store.to_engine(await last_of(conversation)).text


def hide_long_talk(conversation: Conversation) -> None:
    """Store a fact with 150 messages of other talk after it, and hide all of it."""
    places = ("harbour", "market", "library", "station", "garden", "museum")
    said = [
        (f"What is new at the {places[n % 6]}, day {n}?", f"Day {n}: {n * 7} visitors came.")
        for n in range(90)
    ]
    said.insert(15, ("We went to Lund.", "The tower of Lund has 386 steps, the guide told you."))
    for pair in said:
        for role, text in zip(("user", "assistant"), pair, strict=True):
            message = condense.Message(role, text)  # type: ignore[arg-type]
            message_store.append_message(conversation.pk, message, tokens=15)
    summarise(conversation)
