"""Messages with files and images: sent once, read by every vendor's model, and kept."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from chatapp.conversations.composer import attachments
from chatapp.conversations.composer.attachments import attach_file
from chatapp.conversations.context import sizes
from chatapp.models import Attachment, Conversation
from tests.chatapp.claude import answered_by
from tests.chatapp.conversations.composer.conftest import EVERY_DOOR, said, tell
from tests.chatapp.pictures import make_png
from tests.chatapp.sockets import Page
from tests.standin.behaviours import Gate, Reply
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

FILE = '<file name="a.py">\nprint("Hello")\n</file>'


def _attach(conversation: Conversation) -> list[str]:
    files = (("a.py", b'print("Hello")'), ("photo.png", make_png()))
    made = (attach_file(owner=conversation.owner, name=name, data=data) for name, data in files)
    return [str(one.pk) for one in made]


attach = sync_to_async(_attach)


def received(standin: Standin) -> tuple[str, int]:
    """Return what the newest request says in words, and how many images it holds."""
    body: dict[str, Any] = standin.requests[-1].body
    texts, images = list[str](), 0
    for message in body["messages"]:
        content = message.get("content") or ""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts += [block["text"] for block in blocks if block["type"] == "text"]
        images += sum(block["type"] in {"image", "image_url"} for block in blocks)
    return "\n\n".join(texts), images


@EVERY_DOOR
async def test_the_model_reads_what_is_attached(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """Through either door: the file as text, the image as an image, nothing of what pages need."""
    ids = await attach(conversation)
    weights = [one.tokens async for one in Attachment.objects.all()]
    anthropic_standin.reply("Nice.")
    await tell(page, "Look", ids)
    text, images = received(anthropic_standin)
    assert (f"Look\n\n{FILE}" in text, images) == (True, 1)
    assert b"beside" not in anthropic_standin.requests[-1].raw
    assert anthropic_standin.problems == []
    assert not await Attachment.objects.aexists()
    message = await said(conversation)
    assert message.tokens == await sync_to_async(sizes.COUNTER.count)("Look") + sum(weights)
    (shown,) = (
        frame["html"]
        for frame in page.frames
        if frame.get("id") == f"message-{message.seq}" and "html" in frame
    )
    assert 'alt="photo.png"' in shown
    assert "a.py" in shown


async def test_a_file_alone_is_a_message(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """Without a word; the conversation is called by its name."""
    ids = await attach(conversation)
    anthropic_standin.reply("Nice.")
    for unseen in ("  ", "\u200b \ufeff"):
        assert "nothing to send" in await page.refusal(unseen)
    await tell(page, "", ids)
    assert received(anthropic_standin)[1] == 1
    await conversation.arefresh_from_db()
    assert conversation.title == "photo.png, a.py"


async def test_an_edit_leaves_out_what_it_drops(
    conversation: Conversation, anthropic_standin: Standin, page: Page
) -> None:
    """By its place in the message; without a word and all of it there is nothing to send."""
    ids = await attach(conversation)
    anthropic_standin.then(Reply("One."), Reply("Two."))
    await tell(page, "Look", ids)
    first = await said(conversation)
    kinds = [block.get("beside", {}).get("kind") for block in first.content]
    places = {kind: place for place, kind in enumerate(kinds)}
    both = [places["image"], places["file"]]
    assert "nothing to send" in await page.refusal(" ", replaces=first.seq, drops=both)
    assert "out of date" in await page.refusal("Look", replaces=first.seq, drops=["1"])
    await tell(page, "Look", [], replaces=first.seq, drops=[places["image"]])
    text, images = received(anthropic_standin)
    assert (FILE in text, images) == (True, 0)


async def test_what_is_gone_or_another_user_s_is_refused(
    conversation: Conversation, bob: User, anthropic_standin: Standin, page: Page
) -> None:
    """In a sentence, and the rest of what was attached still waits."""
    foreign, own = await sync_to_async(_foreign)(bob), await attach(conversation)
    for ids in ([*own, str(uuid.uuid4())], [foreign]):
        assert "not attached any more" in await page.refusal("Look", attachments=ids)
    for nonsense in ("x", [1], ["x"], [str(uuid.uuid4())] * 2_000):
        assert "out of date" in await page.refusal("Look", attachments=nonsense)
    many = [str(uuid.uuid4()) for _ in range(11)]
    assert "up to 10 attachments" in await page.refusal("Look", attachments=many)
    assert await Attachment.objects.acount() == 3
    assert not await conversation.messages.aexists()
    assert anthropic_standin.requests == []


def _foreign(owner: User) -> str:
    return str(attach_file(owner=owner, name="a.txt", data=b"Hello").pk)


async def test_an_image_for_a_model_that_sees_none_is_refused(
    conversation: Conversation, alice: User, browser: Client, page: Page
) -> None:
    """Also where another profile was chosen after it was attached."""
    ids = await attach(conversation)
    offline = await sync_to_async(answered_by)(alice, "offline", "offline", "")
    address = f"/c/{conversation.pk}/profile/"
    await sync_to_async(browser.post)(address, {"profile": offline.pk})
    assert "can't see images" in await page.refusal("Look", attachments=ids)
    assert await Attachment.objects.acount() == 2


async def test_what_waits_for_a_turn_s_end_keeps_what_is_attached(
    conversation: Conversation, alice: User, anthropic_standin: Standin, page: Page
) -> None:
    """However long that takes; what can't be sent does not begin to wait."""
    ids, gate = await attach(conversation), Gate()
    anthropic_standin.then(Reply("One.", gate=gate), Reply("Two."))
    await page.begin("First")
    assert "not attached any more" in await page.refusal(
        "Second", attachments=[str(uuid.uuid4())], queued=True
    )
    nonce = await page.say("Second", attachments=ids, queued=True)
    await page.until("message.accepted", nonce=nonce)
    await Attachment.objects.aupdate(created_at=timezone.now() - timedelta(days=30))
    await sync_to_async(attachments.forget_waiting)(alice)
    assert await Attachment.objects.acount() == 2
    gate.open()
    for _ in range(2):
        await page.until_idle()
    assert received(anthropic_standin)[1] == 1
    assert not await Attachment.objects.aexists()
