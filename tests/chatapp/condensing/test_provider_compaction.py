"""Who chooses it has the provider compact; nothing is lost for what only that provider can read."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

import condense
from chatapp.models import Condensation, Conversation, accounts, message_store
from chatapp.page.transcript import row_pages
from chatapp.page.transcript.rows import CondensationRow
from chatapp.web.forms.preferences import PreferencesForm
from tests.chatapp.claude import converse
from tests.chatapp.sockets import open_page
from tests.standin.server import Standin


@pytest.fixture
def conversation(alice: User, standin: Standin) -> Conversation:
    """A conversation of Alice's, who has chosen it, with enough to compact."""
    preferences = accounts.preferences_of(alice)
    form = PreferencesForm(
        {"strategy": "provider", "threshold": 80, "step_limit": 9}, instance=preferences
    )
    assert form.is_valid(), form.errors
    form.save()
    found = converse(alice, standin)
    for number in range(8):
        text = f"Message {number} has quite a few words about topic {number}. " * 20
        message = condense.Message("user" if number % 2 == 0 else "assistant", text)
        message_store.append_message(found.pk, message, tokens=200)
    return found


async def compact(conversation: Conversation, owner: User) -> Condensation:
    """Have it compacted and return the record."""
    async with open_page(conversation, owner) as page:
        await page.send("condense.start")
        await page.until_idle()
    attempts = Condensation.objects.select_related("message", "conversation")
    return await attempts.aget(conversation=conversation)


async def talk(conversation: Conversation, owner: User) -> None:
    """Say something and wait for the answer."""
    async with open_page(conversation, owner) as page:
        await page.say("And now?")
        await page.until_idle()


async def test_the_block_goes_first_and_people_read_its_text(
    conversation: Conversation, alice: User, standin: Standin
) -> None:
    """The next request begins with it, with the system prompt and tools it was signed for."""
    attempt = await compact(conversation, alice)
    assert (attempt.strategy, attempt.kind, attempt.status) == (
        "provider",
        "condensed",
        "succeeded",
    )
    assert "Message 0" in attempt.summary
    await talk(conversation, alice)
    compacting, answering = standin.requests
    assert compacting.body["compaction"]["instructions"] == attempt.prompt
    opening = answering.body["messages"][0]["content"]
    assert [block["type"] for block in opening] == ["compaction"]
    assert attempt.summary in opening[0]["content"]
    assert "topic 0" in str(answering.body["messages"][1])
    assert not standin.problems
    rows = (await sync_to_async(row_pages.page)(conversation)).rows
    assert [row.attempt.pk for row in rows if isinstance(row, CondensationRow)] == [attempt.pk]
