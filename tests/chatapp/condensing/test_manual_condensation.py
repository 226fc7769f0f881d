"""A condensation by hand is a turn: nothing else begins meanwhile, and no row of its own shows."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import AsyncClient
from django.urls import reverse

from chatapp.condensing import undo
from chatapp.conversations import rewind
from chatapp.models import Condensation, Conversation, Rewind, Turn, errors, hidden_messages
from chatapp.page.transcript import row_pages
from chatapp.turns import turns_without_message
from tests.chatapp.claude import converse
from tests.chatapp.condensing.conftest import talk_long
from tests.chatapp.scripted_turns import ask
from tests.chatapp.sockets import Page, open_page
from tests.records import put_on_record
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = "<analysis>Short.</analysis><summary>What was said.</summary>"
BUSY = "The context is being condensed. Cancel that first."


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin) -> Conversation:
    """A conversation with two answers, long enough to be condensed."""
    return talk_long(converse(alice, anthropic_standin))


@asynccontextmanager
async def condensing(
    conversation: Conversation, user: User, standin: Standin
) -> AsyncIterator[Page]:
    """Yield a page while the summary that it asked for is written; see it to its end."""
    gate = Gate()
    standin.then(Reply(SUMMARY, gate=gate))
    async with open_page(conversation, user) as page:
        await page.send("condense.start")
        assert await asyncio.to_thread(gate.wait_until_reached)
        try:
            yield page
        finally:
            gate.open()
        await page.until_idle()


async def post(user: User, name: str, *args: object, **fields: object) -> HttpResponse:
    """Post as the page does."""
    client = AsyncClient()
    await client.aforce_login(user)
    return await client.post(reverse(name, args=args), fields, headers={"HX-Request": "true"})


@sync_to_async
def rows(conversation: Conversation) -> list[str]:
    """Return the names of the rows that are no messages."""
    conversation.refresh_from_db()
    shown = row_pages.page(conversation).rows
    return [getattr(row, "name", "Condensed") for row in shown if not hasattr(row, "role")]


def go_back(conversation: Conversation) -> None:
    """Rewind to the beginning."""
    rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1)


def undo_attempt(conversation: Conversation) -> None:
    """Undo a condensation."""
    undo.undo_condensation(condensation=put_on_record(conversation, at_seq=4))


def undo_rewind(conversation: Conversation) -> None:
    """Take back what was set aside."""
    rewind.undo_rewind(rewind=Rewind.objects.get(conversation=conversation))


def switch(conversation: Conversation) -> None:
    """Go to the version that was set aside."""
    rewind.switch_version(rewind=Rewind.objects.get(conversation=conversation))


@pytest.mark.parametrize("back", [go_back, undo_attempt, undo_rewind, switch])
def test_going_back_is_refused_as_soon_as_the_turn_is_open(
    conversation: Conversation, back: Callable[[Conversation], None]
) -> None:
    """Whether or not an attempt has begun: check and write are one transaction on one row."""
    hidden_messages.rewind(conversation.pk, first_hidden_seq=3)
    nonce = uuid.uuid4()
    turn = turns_without_message.open_condensing(conversation=conversation, nonce=nonce)
    assert turn
    with pytest.raises(errors.Refused, match=BUSY):
        back(conversation)
    assert Rewind.objects.filter(undone_at=None).count() == 1
    assert not Turn.objects.get(pk=turn.pk).is_over


async def test_nothing_else_begins_meanwhile_here_or_in_another_process(
    conversation: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """Neither a message, nor a second condensation, nor a rewind; all are told what runs.

    Its turn is on record from the first, and finished after the summary.
    """
    async with condensing(conversation, alice, anthropic_standin) as page:
        turn = await Turn.objects.alatest("started_at")
        assert (turn.origin, turn.status) == (Turn.Origin.CONDENSED, Turn.Status.RUNNING)
        assert (await Condensation.objects.aget()).turn_id == turn.pk
        await page.say("Still there?")
        assert "being condensed" in (await page.until("refused"))["reason"]
        await page.send("condense.start")
        assert "being condensed" in (await page.until("refused"))["reason"]
        with pytest.raises(errors.Refused, match="being condensed"):
            await sync_to_async(ask)(conversation)
        with pytest.raises(errors.Refused, match="being condensed"):
            await sync_to_async(turns_without_message.open_condensing)(
                conversation=conversation, nonce=uuid.uuid4()
            )
        refused = await post(alice, "rewind", conversation.pk, to_seq=1)
        assert (refused.status_code, refused.content) == (422, BUSY.encode())
    assert not await Rewind.objects.aexists()
    await turn.arefresh_from_db()
    assert turn.status == Turn.Status.SUCCEEDED


@pytest.mark.django_db(transaction=True)
async def test_what_is_to_be_kept_is_not_cut(conversation: Conversation, page: Page) -> None:
    """A summary would lack the rest without a word: it is refused, and no turn is left."""
    await page.send("condense.start", focus="x" * 2_001)
    said = (await page.until("refused"))["reason"]
    assert said == "What must be kept can have up to 2,000 characters."
    assert not await conversation.turns.filter(origin=Turn.Origin.CONDENSED).aexists()
