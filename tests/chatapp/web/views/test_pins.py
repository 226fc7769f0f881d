"""Pinning over HTTP: from a message's actions, by its owner."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.conversations.conversations import start_conversation
from chatapp.models import Conversation
from chatapp.project.sentences import number
from tests.chatapp.browsers import HTMX
from tests.chatapp.conftest import Say
from tests.chatapp.sockets import open_page

MARK = "Pinned: the model keeps this word for word"


def press(browser: Client, conversation: Conversation, name: str, seq: int = 1) -> tuple[int, str]:
    """Press a button of a message; return status and what is said."""
    answer = browser.post(reverse(name, args=[conversation.pk, seq]), headers=HTMX)
    return answer.status_code, answer.text


def test_a_message_is_pinned_and_unpinned_from_its_actions(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """Of the user and of the agent alike; the page shows it, and so does the record."""
    say("user", "Never push.")
    say("assistant", "Understood.")
    page = reverse("chat", args=[conversation.pk])
    assert MARK not in browser.get(page).text
    for seq in (1, 2):
        assert press(browser, conversation, "pin_message", seq) == (204, "")
    assert browser.get(page).text.count(MARK) == 2
    assert press(browser, conversation, "unpin_message") == (204, "")
    shown = browser.get(page).text
    assert shown.count(MARK) == 1
    assert reverse("unpin_message", args=[conversation.pk, 2]) in shown
    record = browser.get(reverse("audit", args=[conversation.pk])).text
    assert record.count("Pin: message 1, taken off") == record.count("Pin: message 2") == 1


def test_pins_are_listed_with_what_they_take(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """Messages, passages and rules; all of it can be taken off there."""
    say("user", "Never **push**.", tokens=7)
    say("assistant", "Understood.")
    press(browser, conversation, "pin_message")
    pin = reverse("pin_message", args=[conversation.pk, 1])
    assert browser.post(pin, {"selected": "Never push."}, headers=HTMX).status_code == 204
    rule = reverse("pin_rule", args=[conversation.pk])
    for text in ("<b>Ask\r\nfirst", "Ask. " * 100):
        assert browser.post(rule, {"rule": text}, headers=HTMX).status_code == 204
    shown = browser.get(reverse("pins", args=[conversation.pk])).text
    assert "≈ 7 tokens" in shown
    assert all(label in shown for label in (">You</a>", ">Passage</a>", ">Your rule</a>"))
    cut = ("Ask. " * 60)[:-1] + "…"
    assert all(text in shown for text in ("Never **push**.", "&lt;b&gt;Ask\nfirst", cut))
    taken = sum(pin.tokens for pin in conversation.pins.all())
    most = number(conversation.profile.context_window // 4)
    assert f"Pins take about {taken} tokens. They may take {most}: 25%" in shown
    assert shown.count("/unpin/") == 4
    page = browser.get(reverse("chat", args=[conversation.pk])).text
    assert page.count(f"{MARK} · ≈ ") == 4
    assert "A passage of message 1" in page
    assert "data-editable" not in page.partition('id="message-4"')[2].partition("</article>")[0]


@pytest.mark.django_db(transaction=True)
async def test_what_is_forgotten_leaves_the_list_on_other_pages(
    browser: Client, alice: User, conversation: Conversation, say: Say
) -> None:
    """It may have named the conversation, so they fetch the list anew."""
    await sync_to_async(say)("user", "The gate opens with 4711.")
    await Conversation.objects.aupdate(title="The gate opens with 4711.")
    other = await sync_to_async(start_conversation)(owner=alice)
    async with open_page(other, alice) as page:
        answer = await sync_to_async(browser.post)(
            reverse("forget", args=[conversation.pk]), {"seq": 1}, headers=HTMX
        )
        assert answer.status_code == 204
        await page.until("list.changed")
    await conversation.arefresh_from_db()
    assert conversation.title == ""
