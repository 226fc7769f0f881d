"""Recall: passages that a program's history has lost, behind the message that asks for them."""

import json

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from chatapp.conversations import forgotten_passages
from chatapp.models import Conversation
from tests.chatapp.gateway.agents import AGENTS, Agent, Claude, start
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

FACT = "The zebra in our logo is called Ottokar, and it was drawn in Lübeck in 1974."
ASKS = "Where was the zebra Ottokar of our logo drawn?"


async def with_lost_fact(kind: type[Agent], standin: Standin, owner: User) -> Agent:
    """Return an agent whose program has put a summary in place of a history with a fact."""
    agent = await start(kind, standin, owner, "recall")
    await agent.say(FACT, Reply("Noted."))
    await agent.say("What else is there to do today?", Reply("Nothing."))
    assert agent.raw == agent.written
    agent.history = []
    await agent.say(
        "This session is being continued from another one.", Reply("Go on.", thinking="Hm.")
    )
    assert agent.raw == agent.written
    return agent


@pytest.mark.parametrize("kind", AGENTS)
async def test_recalled_passages_stay_behind_the_message_that_they_came_with(
    standin: Standin, alice: User, kind: type[Agent]
) -> None:
    """The program does not echo them; in later requests they are the same again."""
    agent = await with_lost_fact(kind, standin, alice)
    await agent.say(ASKS, Reply("In Lübeck.", thinking="It says so."))
    asked = agent.requests[-1]
    assert "Lübeck" in asked[-1]["content"][-1]["text"]
    assert asked[:-1] == agent.read(agent.history[: len(asked) - 1])
    await agent.say("Thanks.", Reply("You are welcome.", thinking="Hm."))
    await agent.say("And so on.", Reply("Yes."))
    assert agent.requests[-1][: len(asked)] == asked
    assert str(agent.requests[-1]).count("<recalled>") == 1
    bodies = [json.dumps(one.body.get("system", "")) for one in standin.requests]
    assert "recalled" not in "".join(bodies)


async def test_a_request_that_recalls_is_sent_without_the_encoding_of_the_clients(
    standin: Standin, alice: User
) -> None:
    """Without anything to recall its bytes are the client's."""
    agent = await with_lost_fact(Claude, standin, alice)
    agent.history += agent.user(ASKS)
    standin.reply("In Lübeck.")
    await agent.send(is_packed=True)
    assert "Lübeck" in str(agent.sent()[-1])
    assert "content-encoding" not in standin.requests[-1].headers


async def test_what_a_request_shows_is_not_recalled(standin: Standin, alice: User) -> None:
    """The program has kept the message in its new history."""
    agent = await with_lost_fact(Claude, standin, alice)
    await agent.say(f"Before we go on: {FACT}", Reply("I know."))
    await agent.say(ASKS, Reply("In Lübeck."))
    assert "<recalled>" not in str(agent.requests[-1])


async def test_a_question_that_says_little_is_asked_with_the_message_before(
    standin: Standin, alice: User
) -> None:
    """That of the user, as it stands in the program's history."""
    agent = await with_lost_fact(Claude, standin, alice)
    await agent.say("Ottokar.", Reply("What about him?"))
    await agent.say("And whose is he?", Reply("Ours."))
    assert FACT in str(agent.requests[-1][-1])


async def test_a_program_may_drop_its_oldest_messages_before_a_question_that_recalled(
    standin: Standin, alice: User
) -> None:
    """The passages stay behind it."""
    agent = await with_lost_fact(Claude, standin, alice)
    await agent.say(ASKS, Reply("In Lübeck."))
    asked = agent.requests[-1][-1]
    await agent.say("Thanks.", Reply("You are welcome."))
    while ASKS not in str(agent.history[0]):
        del agent.history[0]
    await agent.say("And so on.", Reply("Yes."))
    assert agent.requests[-1][0] == asked


@pytest.mark.parametrize("by", ["words", "button"])
async def test_what_a_user_has_forgotten_is_recalled_no_more(
    standin: Standin, alice: User, by: str
) -> None:
    """The block beside an earlier message loses it, and a new history does not bring it back."""
    agent = await with_lost_fact(Claude, standin, alice)
    await agent.say(ASKS, Reply("In Lübeck."))
    assert "1974" in str(agent.requests[-1])
    if by == "button":
        own = await Conversation.objects.aget(client__session=agent.session)
        await sync_to_async(forgotten_passages.forget_passage)(conversation=own, text=FACT)
    asks = "Please forget where the zebra Ottokar was drawn." if by == "words" else "Thanks."
    await agent.say(asks, Reply("Done."))
    assert "1974" not in str(agent.requests[-1])
    await agent.say("Noted: the zebra is striped.", Reply("It is."))
    agent.history = []
    await agent.say("This session is being continued once more.", Reply("Go on."))
    await agent.say(ASKS, Reply("I do not know."))
    assert "striped" in str(agent.requests[-1][-1])
    assert "1974" not in str(agent.requests[-1])
