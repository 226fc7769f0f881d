"""Limits that an operator sets for each user: requests, turns at once, and storage."""

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from chatapp.accounts.rate_limits import MINUTE
from chatapp.conversations import conversations
from chatapp.conversations.composer.attachments import attach_file
from chatapp.conversations.files.storage_use import measure_again, room_for
from chatapp.conversations.toolbox.toolbox import workspace_of
from chatapp.models import Attachment, Conversation, Message, QueuedMessage, ServerSettings, Turn
from chatapp.settings import CACHES, IN_REDIS
from tests.chatapp.browsers import HTMX, browser_of
from tests.chatapp.claude import converse
from tests.chatapp.sockets import PATIENCE, Page, open_page
from tests.chatapp.turns.queued_texts import shows
from tests.chatapp.web.api.programs import Sender, bearer
from tests.standin.behaviours import Gate, Reply, ToolCall
from tests.standin.server import Standin

TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS
MEGABYTE = bytes(1 << 20)


def limit(**limits: int | None) -> None:
    """Set these limits."""
    ServerSettings.objects.update_or_create(pk=1, defaults=limits)


alimit = sync_to_async(limit)


@pytest.fixture
def other(alice: User, anthropic_standin: Standin) -> Conversation:
    """A second conversation of Alice's."""
    return converse(alice, anthropic_standin)


def test_an_operator_sets_limits(operator: Client) -> None:
    """What can't be one changes nothing, and empty is none."""
    place = reverse("server")
    sent = {"storage_megabytes": "5", "turns_at_once": "", "requests_per_minute": "700"}
    assert operator.post(place, sent)["Location"] == place
    stored = ServerSettings.read()
    assert (stored.storage_megabytes, stored.turns_at_once) == (5, None)
    refused = operator.post(place, sent | {"turns_at_once": "0"})
    assert (refused.status_code, "greater than or equal to 1" in refused.text) == (422, True)
    assert ServerSettings.read().turns_at_once is None


@pytest.mark.parametrize("ahead", [0, 3600])
def test_requests_beyond_the_limit_are_told_when_to_go_on(
    browser: Client, bob: User, ahead: int
) -> None:
    """As a page, as a notice and as JSON, which count together; nobody else is held back.

    Nor does the clock of another machine, where the minute began, make it longer.
    """
    user = User.objects.get(username="alice")
    alice, program = reverse("settings"), Client(headers=bearer(user))
    limit(requests_per_minute=3)
    cache.set(f"requests-{user.pk}", int(time.time()) + ahead, MINUTE)
    assert [browser.get(alice).status_code for _ in range(2)] == [200, 200]
    assert program.get("/api/settings").status_code == 200
    page = browser.get(alice)
    notice = browser.post(reverse("new_token"), {"name": "x"}, headers=HTMX)
    told = program.get("/api/settings")
    for answer in (page, notice, told):
        assert (answer.status_code, 0 < int(answer["Retry-After"]) <= 60) == (TOO_MANY, True)
        assert "3 requests a minute" in answer.text
    assert "Go back" in page.text
    assert notice["Content-Type"].startswith("text/plain")
    assert "3 requests" in told.json()["detail"]
    others = browser_of(bob)
    assert others.get(alice).status_code == 200


def test_operators_have_no_limit(operator: Client) -> None:
    """Whoever is alone on a server is not held back by what it has for others."""
    limit(requests_per_minute=1)
    assert [operator.get(reverse("settings")).status_code for _ in range(3)] == [200] * 3


@pytest.mark.django_db(transaction=True)
async def test_a_message_beyond_the_requests_is_refused_in_words(page: Page) -> None:
    """Its page keeps the text, and sends the same later."""
    await alimit(requests_per_minute=1)
    await page.ask("First")
    assert "1 request a minute" in await page.refusal("Second", queued=True)
    await alimit(requests_per_minute=None)
    await page.ask("Second", nonce=page.nonce)
    assert await Message.objects.filter(role="user").acount() == 2


@pytest.mark.django_db(transaction=True)
async def test_a_message_beyond_the_turns_waits_for_one_to_end(
    conversation: Conversation, other: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """It says so, is accepted once, and is sent by itself."""
    await alimit(turns_at_once=1)
    gate = Gate()
    anthropic_standin.then(Reply("One.", gate=gate), Reply("Two."))
    async with open_page(conversation, alice) as first, open_page(other, alice) as second:
        await first.begin("First")
        await second.say("Second", queued=True)
        assert "as soon as a turn of yours ends" in (await second.until("queue.changed"))["html"]
        assert await other.turns.acount() == 0
        gate.open()
        await first.until_idle()
        await second.until_idle()
        await shows(second)
    statuses = [one.status async for one in Turn.objects.all()]
    assert statuses == [Turn.Status.SUCCEEDED] * 2
    assert anthropic_standin.requests[-1].body["messages"][-1]["content"][-1]["text"] == "Second"


@pytest.mark.django_db(transaction=True)
async def test_what_can_not_be_sent_then_leaves_the_place_to_the_next(
    conversation: Conversation, other: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """A message in a conversation that lost its profile waits for a person."""
    third = await sync_to_async(converse)(alice, anthropic_standin)
    await alimit(turns_at_once=1)
    gate = Gate()
    anthropic_standin.then(Reply("One.", gate=gate), Reply("Three."))
    async with open_page(conversation, alice) as first, open_page(third, alice) as last:
        await first.begin("First")
        async with open_page(other, alice) as lost:
            await lost.say("Second", queued=True)
            await lost.until("queue.changed")
        await Conversation.objects.filter(pk=other.pk).aupdate(profile=None)
        await last.say("Third", queued=True)
        await last.until("queue.changed")
        gate.open()
        await last.until_idle()
    waiting = [one.text async for one in QueuedMessage.objects.waiting()]
    assert waiting == ["Second"]


@pytest.mark.django_db(transaction=True)
async def test_what_can_not_wait_is_refused_in_words(
    conversation: Conversation, other: Conversation, alice: User, anthropic_standin: Standin
) -> None:
    """A program is told so with a status, and the same message begins nothing twice."""
    await alimit(turns_at_once=1)
    gate = Gate()
    anthropic_standin.then(Reply("One.", gate=gate))
    sender = await sync_to_async(Sender)(other)
    async with open_page(conversation, alice) as first, open_page(other, alice) as second:
        await first.begin("First")
        assert "1 turn at once" in await second.refusal("Second")
        answer = await sender.send("Second")
        assert (answer.status_code, answer["Retry-After"]) == (TOO_MANY, "10")
        assert "1 turn at once" in json.loads(answer.content)["detail"]
        gate.open()
        await first.until_idle()
        await second.ask("Second")


def test_attachments_and_files_are_stored_up_to_the_limit(
    browser: Client, conversation: Conversation, alice: User, bob: User
) -> None:
    """Together, where they are put; what is removed makes room, and others have their own."""
    limit(storage_megabytes=2)
    place, files = workspace_of(conversation), reverse("files", args=[conversation.pk])
    (place / "large.bin").write_bytes(MEGABYTE)
    Attachment.objects.create(owner=alice, block={}, tokens=1, size=len(MEGABYTE) // 2)
    sent = {"files": SimpleUploadedFile("more.bin", MEGABYTE)}
    page = browser.post(files, sent, follow=True).text
    assert "Your files take 1.5 MB, and each user may keep 2 MB" in page
    assert not (place / "more.bin").exists()
    Attachment.objects.update(size=len(MEGABYTE))
    told = Client(headers=bearer(alice)).post(
        "/api/attachments", {"file": SimpleUploadedFile("notes.txt", b"a")}
    )
    assert (told.status_code, "2 MB" in told.json()["detail"]) == (413, True)
    browser.post(reverse("remove_file", args=[conversation.pk]), {"path": "large.bin"})
    sent = {"files": SimpleUploadedFile("more.bin", MEGABYTE)}
    assert "1 file uploaded" in browser.post(files, sent, follow=True).text
    made = conversations.start_conversation(owner=bob)
    assert not workspace_of(made).is_relative_to(place)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("sent_as", ["files", "file"])
def test_uploads_at_the_same_time_do_not_pass_the_limit_together(
    browser: Client, conversation: Conversation, alice: User, sent_as: str
) -> None:
    """Each waits for the one that goes on, and is refused where that took the room."""
    limit(storage_megabytes=1)
    place, ended = workspace_of(conversation), threading.Event()
    addresses = {"files": f"/c/{conversation.pk}/files/", "file": "/attachments/new/"}

    def upload() -> str:
        try:
            sent = {sent_as: SimpleUploadedFile("b.txt", b"B")}
            return browser.post(addresses[sent_as], sent, follow=True).text
        finally:
            ended.set()
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with room_for(alice, len(MEGABYTE)):
            other = threads.submit(upload)
            while not (ended.is_set() or waits_for_a_file()):
                signal.sigtimedwait([], 0.05)
            (place / "a.bin").write_bytes(MEGABYTE)
            measure_again(alice)
        assert "each user may keep 1 MB" in other.result(PATIENCE)
    assert [one.name for one in place.iterdir()] == ["a.bin"]
    assert not Attachment.objects.exists()


def waits_for_a_file() -> bool:
    """Whether a thread of this process waits until a file is not locked any more."""
    locks = Path("/proc/locks").read_text("ascii").splitlines()
    return any(f" {os.getpid()} " in one for one in locks if "->" in one)


@pytest.mark.django_db(transaction=True)
async def test_what_was_sent_with_messages_counts_on(
    browser: Client, page: Page, alice: User
) -> None:
    """An attachment takes room as it waits, and after that."""
    await alimit(storage_megabytes=1)

    kept = await sync_to_async(attach_file)(owner=alice, name="a.txt", data=b"A")
    await Attachment.objects.aupdate(size=len(MEGABYTE) - 1)
    await page.ask("Read it.", attachments=[str(kept.pk)])
    assert not await Attachment.objects.aexists()
    headers = HTMX
    for data, status in ((b"A", 200), (b"B", 422)):
        sent = {"file": SimpleUploadedFile("b.txt", data)}
        answer = await sync_to_async(browser.post)("/attachments/new/", sent, headers=headers)
        assert answer.status_code == status
    assert "each user may keep 1 MB" in answer.text


@pytest.mark.django_db(transaction=True)
async def test_no_tool_changes_files_beyond_the_limit(
    conversation: Conversation, page: Page, anthropic_standin: Standin
) -> None:
    """The model is told why, and what only reads goes on."""
    await alimit(storage_megabytes=1)
    place = await sync_to_async(workspace_of)(conversation)
    (place / "large.bin").write_bytes(MEGABYTE + b"!")
    allowed = {"write_file": "allow"}
    await Conversation.objects.filter(pk=conversation.pk).aupdate(tool_policies=allowed)
    call = ToolCall("write_file", {"path": "a.txt", "content": "A"})
    anthropic_standin.then(Reply(tools=[call]), Reply("I see."))
    await page.ask("Write")
    assert not (place / "a.txt").exists()
    assert "each user may keep 1 MB" in json.dumps(anthropic_standin.requests[-1].body)


@pytest.fixture
def without_redis(db: None, settings: Settings) -> None:
    """Counts are shared in a Redis that is away."""
    pytest.importorskip("redis")
    nowhere = IN_REDIS | {"LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = CACHES | {"default": nowhere}


def test_pages_are_read_while_redis_is_away(browser: Client, without_redis: None) -> None:
    """Each process then counts alone."""
    limit(requests_per_minute=2)
    place = reverse("settings")
    assert [browser.get(place).status_code for _ in range(3)] == [200, 200, TOO_MANY]


def test_wrong_guesses_are_counted_while_redis_is_away(client: Client, without_redis: None) -> None:
    """Nobody who guesses meets an error, and each process holds back who guesses too often."""
    wrong = {"Authorization": "Bearer nothing"}
    tried = [client.get("/api/conversations", headers=wrong).status_code for _ in range(51)]
    assert tried == [401] * 50 + [TOO_MANY]
    form = {"login": "nobody", "password": "wrong"}
    assert "not correct" in client.post(reverse("account_login"), form).text
    reset = client.post(reverse("account_reset_password"), {"email": "nobody@example.org"})
    assert reset.status_code == 302
