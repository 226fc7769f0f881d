"""What is pinned goes through the condensations of real turns, or they are not applied."""

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from chatapp.conversations import pins
from chatapp.models import Condensation, Conversation, ModelCall, Pin, message_store
from tests.chatapp.audited import raw
from tests.chatapp.condensing.conftest import LONG
from tests.chatapp.scripted_turns import ask, end
from tests.chatapp.sockets import Page, open_page
from tests.standin.behaviours import Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

RULE = "Port 8080 must never change."


@sync_to_async
def talk(conversation: Conversation) -> None:
    """Say enough to be condensed."""
    for text in (RULE, "The second answer."):
        end(ask(conversation, LONG), text)
    conversation.messages.filter(role="user").update(tokens=3_750)


@sync_to_async
def seen(conversation: Conversation) -> str:
    """Return all that the model sees."""
    return "\n".join(one.text for one in message_store.read_effective(conversation.pk))


async def condense(conversation: Conversation, standin: Standin) -> Condensation:
    """Condense by hand, and return the record of the attempt."""
    standin.then(Reply("<summary>What was said.</summary>"))
    async with open_page(conversation, conversation.owner) as page:
        await page.condense()
    return await Condensation.objects.alatest("started_at")


async def test_a_pin_whose_bytes_changed_stops_the_condensation(
    conversation: Conversation, anthropic_standin: Standin
) -> None:
    """The attempt is on record as failed, with the reason, and nothing is hidden."""
    await talk(conversation)
    await sync_to_async(pins.pin_message)(conversation=conversation, seq=2)
    pin = await Pin.objects.aget()
    # Were it the message that somebody changed, its requests could not be shown as they were sent.
    await raw(Pin).aupdate(digest="0" * 64)
    before = await seen(conversation)
    attempt = await condense(conversation, anthropic_standin)
    assert attempt.status == "failed"
    assert attempt.error == ("Message 2 is not what it was when it was pinned. Unpin it first.")
    assert await seen(conversation) == before
    await raw(Pin).aupdate(digest=pin.digest)


async def test_a_rule_is_told_late_and_kept_by_a_condensation(
    conversation: Conversation, anthropic_standin: Standin, browser: Client, page: Page
) -> None:
    """The inspector reads the request again; of a summary's pins it is one like any other."""
    profile = conversation.profile
    assert profile
    profile.model = "claude-opus-5"
    await profile.asave()
    await talk(conversation)
    await sync_to_async(pins.pin_rule)(conversation=conversation, text=RULE)
    anthropic_standin.then(Reply("Yes."))
    await page.ask("Go on.")
    *_, last, late = anthropic_standin.requests[-1].body["messages"]
    assert (last["role"], late["role"]) == ("user", "system")
    assert late["content"][0]["text"] == f"<pinned_rule>\n{RULE}\n</pinned_rule>"
    call = await ModelCall.objects.alatest("pk")
    shown = await sync_to_async(browser.get)(f"/c/{conversation.pk}/calls/{call.pk}/")
    assert "&lt;pinned_rule&gt;" in shown.text
    assert (await condense(conversation, anthropic_standin)).status == "succeeded"
    assert "## Pinned Message, Verbatim (user, " in await seen(conversation)
    assert RULE in await seen(conversation)
