"""What a page is told when the server can't save, and that the conversation goes on afterwards."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import AsyncClient, Client
from django.urls import reverse

from chatapp.models import Conversation, Message, ModelCall, Turn, accounts
from chatapp.storage import partial_replies
from tests.chatapp.sockets import PATIENCE, Page, open_page
from tests.chatapp.storage_faults import READ_ONLY, WHY, broken, execute, full_disk
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)


async def until_written(page: Page, standin: Standin, *replies: Reply) -> None:
    """Say something, and return once the first words of the answer are on disk."""
    standin.then(*replies)
    await page.say("Hello.")
    assert await asyncio.to_thread(replies[0].gate.wait_until_reached)
    async with asyncio.timeout(PATIENCE):
        while not await ModelCall.objects.filter(pieces__text__contains="Well").aexists():
            pass


@pytest.mark.sqlite("the disk is the server's, and can't be filled by a client")
async def test_a_write_that_fails_is_made_again_while_the_text_stays(
    conversation: Conversation,
    alice: User,
    anthropic_standin: Standin,
    monkeypatch: pytest.MonkeyPatch,
    page: Page,
) -> None:
    """With room again in time, nothing is lost, and the notice goes."""
    monkeypatch.setattr(partial_replies, "WAITS", (0.5,) * 1_000)
    text, gate = "Well: " + "long, " * 20_000 + "at last.", Gate()
    await until_written(page, anthropic_standin, Reply(text, gate=gate))
    async with full_disk(gate):
        while "could not save" not in (panel := await page.until("panel.changed"))["notice"]:
            pass
        assert "data-until" in panel["notice"]
        async with open_page(conversation, alice) as late:
            assert [one["id"] for one in late.frames[0]["articles"]][-1] == "streaming"
    await page.until_idle()
    assert page.frames[-1]["notice"] == ""
    row = await Message.objects.aget(role="assistant")
    assert row.content[0]["text"] == text
    assert (await Turn.objects.aget()).status == Turn.Status.SUCCEEDED


@pytest.mark.sqlite("the disk is the server's, and can't be filled by a client")
async def test_all_that_was_shown_is_stored_once_there_is_room_for_it(
    conversation: Conversation,
    alice: User,
    anthropic_standin: Standin,
    monkeypatch: pytest.MonkeyPatch,
    page: Page,
) -> None:
    """Until then it stays on every page, which says what to do; the next message is refused."""
    monkeypatch.setattr(partial_replies, "WAITS", (0.0, 0.0))
    # Nothing is stored by the way: what closes the turn has to know all of it.
    monkeypatch.setattr(partial_replies, "WRITE_PAUSE", 1_000.0)
    text, gate = "**Well:**\n\n" + "long, " * 20_000 + "at last.", Gate()
    again = Reply("There is room again.")
    await until_written(page, anthropic_standin, Reply(text, gate=gate), again)
    async with full_disk(gate):
        await page.until_idle()
        assert "could not save" in await page.refusal("Again? " + "Again? " * 9_000)
        # Whoever leaves closes a connection, and with it its limit.
        async with open_page(conversation, alice) as late:
            (kept,) = late.frames[0]["articles"]
    shown = [frame for frame in page.frames if frame.get("id") == kept["id"]][-1]["html"]
    assert shown == kept["html"]
    assert all(said in shown for said in ("<strong>Well:</strong>", "long, long, ", "Not saved"))
    told = [(frame["type"], frame.get("id")) for frame in page.frames]
    assert ("article.removed", "streaming") in told
    # In the turn's row, or at the composer where there was no room for that either.
    notices = [frame["notice"] for frame in page.frames if frame["type"] == "panel.changed"]
    assert "Its disk is full. Make room there" in (await Turn.objects.aget()).error + notices[-1]
    await page.ask("Again?")
    said = Message.objects.filter(role="assistant").order_by("seq")
    kept, answer = [row async for row in said]
    assert (kept.content[0]["text"], kept.stop_reason) == (text, "interrupted")
    assert answer.content[0]["text"] == "There is room again."


async def test_a_turn_whose_end_could_not_be_saved_does_not_stand_in_the_way(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """It is closed by the next message; only one turn of a conversation may run."""
    anthropic_standin.then(Reply("First."), Reply("Second."))
    async with broken("UPDATE ON chatapp_turn", for_good=True):
        await page.ask("One.")
    assert "could not save" in page.frames[-1]["notice"]
    await page.ask("Two.")
    statuses = [turn.status async for turn in Turn.objects.order_by("started_at")]
    assert statuses == [Turn.Status.INTERRUPTED, Turn.Status.SUCCEEDED]


async def rewind(conversation: Conversation, user: User) -> HttpResponse:
    """Go back to the first message, as the page does."""
    client = AsyncClient()
    await client.aforce_login(user)
    address = reverse("rewind", args=[conversation.pk])
    return await client.post(address, {"to_seq": 1}, headers={"HX-Request": "true"})


async def test_a_message_that_cannot_be_saved_is_refused_in_words(
    alice: User, anthropic_standin: Standin, page: Page
) -> None:
    """The page still has its text, and sends it again when the user wants."""
    await sync_to_async(accounts.preferences_of)(alice)
    anthropic_standin.then(Reply("First."))
    await sync_to_async(execute)(READ_ONLY.format("ON"))
    try:
        nonce = await page.say("One.")
        refusal = await page.until("refused")
    finally:
        await sync_to_async(execute)(READ_ONLY.format("OFF"))
    assert (refusal["nonce"], "could not save" in refusal["reason"]) == (nonce, True)
    await page.ask("One.", nonce=nonce)
    assert await Message.objects.acount() == 2


def test_what_cannot_be_saved_is_refused_in_words(
    conversation: Conversation, alice: User, client: Client
) -> None:
    """As a sentence for a script, and on the page one came from."""
    client.force_login(alice)
    address = reverse("rename", args=[conversation.pk])
    accounts.preferences_of(alice)
    execute(READ_ONLY.format("ON"))
    try:
        told = client.post(address, {"title": "New"}, headers={"HX-Request": "true"})
        back = client.post(address, {"title": "New"})
    finally:
        execute(READ_ONLY.format("OFF"))
    assert told.status_code == 422
    assert f"nothing changed. {WHY}" in told.text
    assert "could not save" in client.get(back.headers["Location"]).content.decode()
    conversation.refresh_from_db()
    assert conversation.title != "New"


async def test_going_back_works_after_a_turn_whose_end_could_not_be_saved(
    conversation: Conversation, alice: User, anthropic_standin: Standin, page: Page
) -> None:
    """Nothing runs, whatever the record says, and whether or not a page is open."""
    anthropic_standin.then(Reply("First."))
    async with broken("UPDATE ON chatapp_turn", for_good=True):
        await page.ask("One.")
    assert (await rewind(conversation, alice)).status_code == 204
    turn = await Turn.objects.aget()
    ended = (Turn.Status.INTERRUPTED, "The end of this turn could not be saved.")
    assert (turn.status, turn.error) == ended
    assert not await Message.objects.effective().aexists()
