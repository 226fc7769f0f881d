"""The same request several times at once, as an impatient hand or two tabs send it."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from chatapp.conversations.rewind import rewind_conversation
from chatapp.models import Conversation, Message, Rewind, Turn, hidden_messages
from chatapp.page.live.incoming_frames import TakeUp
from chatapp.turns import turns_without_message
from tests.chatapp.audited import talk as speak
from tests.chatapp.browsers import HTMX
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.scripted_turns import STOPPED, ask, end, seen, send
from tests.chatapp.written_files import database_in
from tests.records import record_for

pytestmark = pytest.mark.django_db(transaction=True)

TIMES = 4
DONE = (204, "transcript-changed")


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
        return answer.status_code, answer.get("HX-Trigger", answer.text)

    return together(post)


ORIGINALS = ["One", "Two", "Three", "Four"]


@pytest.mark.parametrize(
    ("what", "came_to", "rewinds"),
    [
        ("undo_condensation", ORIGINALS, 0),
        ("rewind", ["One"], 1),
        ("undo_rewind", ORIGINALS, 1),
        ("switch_version", [*ORIGINALS, "Why?", "Because."], 2),
    ],
)
def test_what_is_asked_for_several_times_at_once_is_done_once(
    browser: Client, talk: Conversation, tmp_path: Path, what: str, came_to: list[str], rewinds: int
) -> None:
    """All get the same answer, and nothing else changes."""
    form: dict[str, str] = {}
    match what:
        case "rewind":
            form, named = {"to_seq": "2", "key": str(uuid.uuid4())}, []
        case "undo_rewind":
            named = [rewind_conversation(conversation=talk, first_hidden_seq=2).pk]
        case "switch_version":
            end(ask(talk, "Why?"), "Because.")
            end(ask(talk, "Why not?", replaces=5), "Because not.")
            named = [Rewind.objects.get().pk]
        case _:
            named = [record_for(talk, summarise(talk)).pk]
    path = reverse(what, args=[talk.pk, *named])
    with database_in(tmp_path):
        revision = Conversation.objects.get().revision
        assert at_once(browser, path, **form) == TIMES * [DONE]
        assert seen(talk) == came_to
        assert Rewind.objects.count() == rewinds
        if what.startswith("undo"):
            assert Conversation.objects.get().revision == revision + 1


@pytest.mark.parametrize("what", ["send", "condense", "continue"])
def test_what_begins_a_turn_begins_one(talk: Conversation, tmp_path: Path, what: str) -> None:
    """By the client's number for it, whoever is asked, and nobody is told that it is busy."""
    end(ask(talk), "Because", stop_reason="stopped", status=STOPPED)
    nonce = uuid.uuid4()
    begin = {
        "send": lambda: send(talk, "So?", nonce),
        "condense": lambda: turns_without_message.open_condensing(conversation=talk, nonce=nonce),
    }
    take_up = partial(turns_without_message.take_up, talk, TakeUp(what, nonce))
    with database_in(tmp_path):
        begun = together(begin.get(what, take_up))
        assert len([one for one in begun if one is not None]) == 1
        assert Turn.objects.unfinished().get().nonce == nonce


def test_a_key_of_another_conversation_is_refused(
    browser: Client, conversation: Conversation, say: Say
) -> None:
    """Nothing is changed here or there."""
    say("user", "One.")
    other = Conversation.objects.create(owner=conversation.owner)
    form = {"to_seq": "1", "key": str(hidden_messages.rewind(other.pk, first_hidden_seq=1).pk)}
    answer = browser.post(reverse("rewind", args=[conversation.pk]), form, headers=HTMX)
    assert (answer.status_code, "another conversation" in answer.text) == (422, True)
    assert not Message.objects.get(seq=1).hidden
