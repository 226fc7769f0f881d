"""Words that UTF-8 or JSON can't carry: the conversation goes on, and its page stays readable."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.models import Conversation, ModelCall
from tests.chatapp.sockets import Page
from tests.standin.behaviours import Reply, ToolCall
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

DEEP = '{"path": ' + "[" * 900 + "]" * 900 + "}"
CALLS = ['{"path": "\\ud83d.txt"}', '{"a\\u0000": -Infinity}', DEEP]


async def read(conversation: Conversation, alice: User) -> str:
    """Return the page's HTML as Alice's browser gets it."""

    def get() -> str:
        browser = Client()
        browser.force_login(alice)
        answer = browser.get(reverse("chat", args=[conversation.pk]))
        assert answer.status_code == 200
        return answer.content.decode()

    return await sync_to_async(get)()


async def test_tool_calls_that_no_json_carries_are_stored_answered_and_shown(
    conversation: Conversation, alice: User, anthropic_standin: Standin, page: Page
) -> None:
    """The reply was paid for; the next request can be sent, and the page can be read."""
    for raw in CALLS:
        anthropic_standin.then(Reply(tools=(ToolCall("read_file", raw=raw),)), Reply("Read on."))
        idle = await page.ask("Go")
        assert idle["text"] == "Done.", raw
    calls = ModelCall.objects.filter(conversation=conversation, error="")
    assert await calls.acount() == 2 * len(CALLS)
    assert (await read(conversation, alice)).count("Read on.") >= len(CALLS)


async def test_a_reply_with_half_a_surrogate_pair_is_streamed_stored_and_shown(
    conversation: Conversation, alice: User, anthropic_standin: Standin, page: Page
) -> None:
    """In code too, which is streamed in another way."""
    anthropic_standin.then(Reply("caf\u00e9 \ud83d and\n```py\na = '\udce9' \0 b\n" + "x\n" * 400))
    idle = await page.ask("Go")
    assert idle["text"] == "Done."
    assert "caf\u00e9 \ufffd and" in await read(conversation, alice)


NONSENSE = ["no json", '{"type": "no.such.thing"}', "[" * 100_000, '{"a":' * 50_000]
NONSENSE += ["[" * 900 + "]" * 900]


async def test_frames_of_nonsense_are_refused_and_the_socket_stays(page: Page) -> None:
    """An old page may speak an old protocol, and anybody can send brackets."""
    for frame in NONSENSE:
        await page.communicator.send_to(text_data=frame)
        assert "Reload" in (await page.until("refused"))["reason"], frame[:20]
    await page.ask("Still here?")
