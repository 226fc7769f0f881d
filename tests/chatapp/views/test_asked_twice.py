"""The same request once more: answered as it was, whatever happened since, and nothing is done."""

import re
import uuid

import pytest
from django.test import Client
from django.urls import reverse

from chatapp.conversations import conversations
from chatapp.models import Conversation, Message, Rewind, hidden_messages, message_store
from chatapp.turns import lifecycle
from tests.chatapp.conftest import Say

pytestmark = pytest.mark.django_db(transaction=True)
HTMX = {"HX-Request": "true"}


def key_of(browser: Client, conversation: Conversation) -> str:
    """Return the key in the dialog that asks whether to go back."""
    address = reverse("rewind_preview", args=[conversation.pk])
    page = browser.get(address, {"to_seq": 1}).text
    (key,) = re.findall(r'name="key" value="([^"]+)"', page)
    return str(key)


def test_going_back_and_forth_is_answered_as_it_was(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """Also where a turn runs meanwhile, which refuses whoever wants to do it now."""
    for number in range(3):
        say("user", f"text {number}")
    key, address = key_of(browser, conversation), reverse("chat", args=[conversation.pk])
    back = (reverse("rewind", args=[conversation.pk]), {"to_seq": "2", "key": key})
    forth = (reverse("undo_rewind", args=[conversation.pk, key]), {"": ""})
    for path, form in (back, forth):
        assert browser.post(path, form)["Location"] == address
    lifecycle.start_turn(conversation=conversation, text="So?", tokens=1, nonce=uuid.uuid4())
    before = message_store.read_effective(conversation.pk)
    for path, form in (back, forth):
        answer = browser.post(path, form, headers=HTMX)
        assert (answer.status_code, answer["HX-Trigger"]) == (204, "transcript-changed")
        assert browser.post(path, form)["Location"] == address
    assert message_store.read_effective(conversation.pk) == before
    assert Rewind.objects.count() == 1


def test_each_dialog_has_a_key_of_its_own(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """Two clicks on its button are one rewind, and two dialogs are two."""
    say("user", "One.")
    assert key_of(browser, conversation) != key_of(browser, conversation)


def test_a_key_of_another_conversation_is_refused(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """Nothing is changed here or there."""
    say("user", "One.")
    other = Conversation.objects.create(owner=conversation.owner)
    form = {"to_seq": "1", "key": str(hidden_messages.rewind(other.pk, to_seq=1).pk)}
    answer = browser.post(reverse("rewind", args=[conversation.pk]), form, headers=HTMX)
    assert (answer.status_code, "another conversation" in answer.text) == (422, True)
    assert not Message.objects.get(seq=1).hidden


@pytest.mark.parametrize("name", ["delete", "restore"])
def test_deleting_and_restoring_are_answered_as_they_were(
    browser: Client, conversation: Conversation, name: str
) -> None:
    """The page that follows is the same, and so is when it was deleted."""
    if name == "restore":
        conversations.delete_conversation(conversation=conversation)
    path, seen = reverse(name, args=[conversation.pk]), set()
    for _ in range(2):
        answer = browser.post(path)
        conversation.refresh_from_db()
        seen.add((answer.status_code, answer["Location"], conversation.deleted_at))
    assert len(seen) == 1
