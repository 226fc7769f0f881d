"""A conversation gets its name from the model that answers in it, once, and off everybody's way."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

import condense
from chatapp.conversations import conversations
from chatapp.models import Conversation, ModelCall, Turn
from chatapp.turns import crash_recovery
from chatapp.turns.titles import read_title
from tests.chatapp.claude import converse
from tests.chatapp.runs import named
from tests.chatapp.scripted_turns import ask
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import Behaviour, Failure, Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin) -> Conversation:
    """A conversation that the stand-in answers, whose owner lets the model name it."""
    alice.preferences.name_conversations = True
    alice.preferences.save()
    return converse(alice, anthropic_standin)


async def title_of(conversation: Conversation) -> str:
    """Return the title as it is stored."""
    return (await Conversation.objects.aget(pk=conversation.pk)).title


async def test_the_model_names_a_conversation_after_its_first_answer(
    anthropic_standin: Standin, conversation: Conversation, browser: Client, page: Page
) -> None:
    """One call, on record with what it cost; the page shows both, and later turns ask none."""
    anthropic_standin.then(Reply("Blue is calm."), Reply('# "Colours of a  room"\n'), Reply("Two."))
    await page.say("Which colour suits a bedroom?")
    await page.until("title.changed")
    await page.until("transcript.changed")
    await page.ask("And a kitchen?")
    assert await title_of(conversation) == "Colours of a room"
    shown = await sync_to_async(browser.get)(f"/c/{conversation.pk}/rename/")
    assert "Colours of a room" in shown.content.decode()
    _first, named, _second = anthropic_standin.requests
    assert "Which colour suits" in str(named.body["messages"])
    assert "Blue is calm." in str(named.body["messages"])
    assert "tools" not in named.body
    calls = [call async for call in ModelCall.objects.order_by("pk")]
    assert [call.purpose for call in calls] == ["chat", "title", "chat"]
    assert calls[1].status == ModelCall.Status.SUCCEEDED
    assert calls[1].cost
    assert calls[2].cache_miss == ""
    assert anthropic_standin.problems == []
    # A name that a person gives is told just so.
    await sync_to_async(browser.post)(f"/c/{conversation.pk}/rename/", {"title": "Rooms"})
    await page.until("title.changed")


async def test_a_title_that_a_person_gave_stays(
    alice: User, anthropic_standin: Standin, conversation: Conversation
) -> None:
    """Also where the model is asked already, and nobody waits for its answer."""
    gate = Gate()
    anthropic_standin.then(Reply("One."), Reply("Colours", hold=gate), Reply("Two."))
    async with open_page(conversation, alice) as page:
        await page.ask("Which?")
        assert await asyncio.to_thread(gate.wait_until_reached)
        rename = sync_to_async(conversations.rename_conversation)
        await rename(conversation=conversation, title="My own")
        await page.say("And now?")
        gate.open()
        await page.until_idle()
    async with open_page(conversation, alice) as page:
        await page.ask("And then?")
    assert await title_of(conversation) == "My own"
    assert await Turn.objects.filter(status=Turn.Status.SUCCEEDED).acount() == 3


@pytest.mark.parametrize(
    "reply", [Failure(400, "invalid_request_error", "no"), Reply('""'), Reply("word " * 40)]
)
async def test_where_the_model_finds_none_the_first_words_stay(
    anthropic_standin: Standin, conversation: Conversation, reply: Behaviour, page: Page
) -> None:
    """The turn was a success all the same; that a call failed is on its row."""
    anthropic_standin.then(Reply("One."), reply)
    await page.ask("Which?")
    while (
        await ModelCall.objects.filter(purpose="title").exclude(status="running").afirst() is None
    ):
        await page.send("ping")
        await page.until("pong")
    assert await title_of(conversation) == "Which?"
    call = await ModelCall.objects.aget(purpose="title")
    assert bool(call.error) == isinstance(reply, Failure)
    assert await Turn.objects.filter(status=Turn.Status.SUCCEEDED).acount() == 1


def test_a_call_that_a_process_left_is_closed_with_the_next_start(
    conversation: Conversation,
) -> None:
    """It asks for a title only, and nobody goes on with it; its prompt is paid for."""
    profile = conversation.profile
    assert profile
    called = {"conversation": conversation, "purpose": "title", "tokens_estimated": 1_000}
    for turn, names in ((ask(conversation), named(profile)), (None, {})):
        ModelCall.objects.create(**called, **names, turn=turn)
    crash_recovery.close_left()
    calls = ModelCall.objects.order_by("pk")
    assert {call.status for call in calls} == {ModelCall.Status.INTERRUPTED}
    cost = profile.cost_of(condense.Usage(input=1_000))
    assert [call.cost for call in calls] == [cost, 0]
    assert cost > 0


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ("**Plain words**\nand more", "Plain words"),
        ("\n\nTitle: „Ein Raum“.", "Ein Raum"),
        ("## **Title:** *A room*", "A room"),
        ('"Title: .NET and C#"', ".NET and C#"),
        ("What `__init__` does, and `self`", "What `__init__` does, and `self`"),
        ("<script>x</script>", "<script>x</script>"),
        ("...", ""),
        ("x" * 81, ""),
    ],
)
def test_a_title_is_the_reply_s_first_line_without_decoration(reply: str, title: str) -> None:
    """Whatever else a model writes around it."""
    assert read_title(reply) == title


@pytest.mark.parametrize(
    ("said", "title"),
    [("One\n two", "One two"), ("x" * 60, "x" * 60), (f"{'x' * 58} {'x' * 9}", f"{'x' * 58}…")],
)
def test_until_then_a_conversation_is_called_by_the_beginning_of_its_first_message(
    conversation: Conversation, said: str, title: str
) -> None:
    """On one line, of sixty characters at most."""
    ask(conversation, said)
    assert Conversation.objects.get().title == title
