"""The same request several times at once, as an impatient hand or two tabs send it."""

import re
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

import condense
from chatapp.conversations import conversations
from chatapp.conversations.rewind import rewind_conversation
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    Rewind,
    Turn,
    hidden_messages,
    message_store,
)
from chatapp.turns import lifecycle, turn_retries
from tests.chatapp.audited import talk as speak
from tests.chatapp.condensation.test_receipts import finding
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.scripted_turns import STOPPED, ask, end, seen
from tests.chatapp.written_files import database_in
from tests.records import record_for

pytestmark = pytest.mark.django_db(transaction=True)

TIMES = 4
HTMX = {"HX-Request": "true"}
DONE = (204, "")


@pytest.fixture
def talk(conversation: Conversation, say: Say) -> Conversation:
    """A conversation in which four things were said."""
    speak(conversation, "One", "Two", "Three", "Four")
    return conversation


def together[T](work: Callable[[], T]) -> list[T]:
    """Do the same in several threads at the same moment; return what each got."""
    start = threading.Barrier(TIMES)

    def do(_number: int) -> T:
        start.wait()
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(TIMES) as pool:
        return list(pool.map(do, range(TIMES)))


def at_once(browser: Client, path: str, **form: str) -> list[tuple[int, str]]:
    """Send the same form several times at the same moment; return the answers."""

    def post() -> tuple[int, str]:
        tab = Client(raise_request_exception=False)
        tab.cookies = browser.cookies
        answer = tab.post(path, form, headers=HTMX)
        return answer.status_code, answer.text

    return together(post)


def test_a_condensation_is_undone_once(browser: Client, talk: Conversation, tmp_path: Path) -> None:
    """All get the same answer, and nothing else changes."""
    before = message_store.read_effective(talk.pk)
    attempt = record_for(talk, summarise(talk))
    path = reverse("undo_condensation", args=[talk.pk, attempt.pk])
    with database_in(tmp_path):
        revision = Conversation.objects.get().revision
        answers = at_once(browser, path)
        assert answers == TIMES * [DONE]
        assert [one.text for one in message_store.read_effective(talk.pk)] == [
            one.text for one in before
        ]
        assert Conversation.objects.get().revision == revision + 1
        assert Condensation.objects.get().status == Condensation.Status.UNDONE


def test_a_rewind_is_undone_once(browser: Client, talk: Conversation, tmp_path: Path) -> None:
    """Likewise."""
    before = message_store.read_effective(talk.pk)
    rewind = rewind_conversation(conversation=talk, to_seq=2)
    path = reverse("undo_rewind", args=[talk.pk, rewind.pk])
    with database_in(tmp_path):
        revision = Conversation.objects.get().revision
        answers = at_once(browser, path)
        assert answers == TIMES * [DONE]
        assert message_store.read_effective(talk.pk) == before
        assert Conversation.objects.get().revision == revision + 1
        assert Rewind.objects.get().undone_at is not None


def test_a_conversation_is_rewound_once(
    browser: Client, talk: Conversation, tmp_path: Path
) -> None:
    """Not once for each click: the dialog has a key, which its record is known by."""
    path = reverse("rewind", args=[talk.pk])
    with database_in(tmp_path):
        answers = at_once(browser, path, to_seq="2", key=str(uuid.uuid4()))
        assert answers == TIMES * [DONE]
        assert Rewind.objects.get().messages_hidden == 3


def test_a_fact_is_put_back_once(browser: Client, talk: Conversation, tmp_path: Path) -> None:
    """The model reads it in one message."""
    attempt = record_for(talk, summarise(talk))
    attempt.receipt = condense.Receipt((finding("make deploy", "missing"),))
    attempt.save()
    path = reverse("put_back", args=[talk.pk, attempt.pk])
    with database_in(tmp_path):
        answers = at_once(browser, path, fact="0")
        assert answers == TIMES * [DONE]
        told = [
            one.text for one in message_store.read_effective(talk.pk) if "make deploy" in one.text
        ]
        assert len(told) == 1


def test_another_version_is_shown_once(browser: Client, talk: Conversation, tmp_path: Path) -> None:
    """What it replaces is set aside by one rewind, not by one for each click."""
    end(ask(talk, "Why?"), "Because.")
    end(ask(talk, "Why not?", replaces=5), "Because not.")
    path = reverse("switch_version", args=[talk.pk, Rewind.objects.get().pk])
    with database_in(tmp_path):
        answers = at_once(browser, path)
        assert answers == TIMES * [DONE]
        assert seen(talk)[-2:] == ["Why?", "Because."]
        assert Rewind.objects.count() == 2


@pytest.mark.parametrize("what", ["send", "condense", "retry", "continue"])
def test_what_begins_a_turn_begins_one(talk: Conversation, tmp_path: Path, what: str) -> None:
    """By the client's number for it, whoever is asked, and nobody is told that it is busy."""
    end(ask(talk), "Because", stop_reason="stopped", status=STOPPED)
    nonce = uuid.uuid4()
    begin = {
        "send": lambda: lifecycle.start_turn(conversation=talk, text="So?", tokens=1, nonce=nonce),
        "condense": lambda: lifecycle.start_condensing(conversation=talk, nonce=nonce),
        "retry": lambda: turn_retries.retry_turn(conversation=talk, nonce=nonce),
        "continue": lambda: turn_retries.continue_turn(conversation=talk, nonce=nonce),
    }[what]
    with database_in(tmp_path):
        begun = together(begin)
        assert len([one for one in begun if one is not None]) == 1
        assert Turn.objects.unfinished().get().nonce == nonce


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
