"""The same request several times at once, as an impatient hand or two tabs send it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from chatapp import services
from chatapp.models import Condensation, Conversation, Rewind, store
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.context.test_receipts import finding
from tests.chatapp.files import database_in
from tests.chatapp.services.test_services import record_for

pytestmark = pytest.mark.django_db(transaction=True)

TIMES = 4
HTMX = {"HX-Request": "true"}


@pytest.fixture
def talk(conversation: Conversation, say: Say) -> Conversation:
    """A conversation in which four things were said."""
    for number in range(4):
        say("user" if number % 2 == 0 else "assistant", f"text {number}")
    return conversation


def at_once(browser: Client, path: str, **form: str) -> list[tuple[int, str]]:
    """Send the same form from several threads at the same moment; return the answers, sorted."""
    together = threading.Barrier(TIMES)

    def post(_number: int) -> tuple[int, str]:
        tab = Client(raise_request_exception=False)
        tab.cookies = browser.cookies
        together.wait()
        try:
            answer = tab.post(path, form, headers=HTMX)
            return answer.status_code, answer.text
        finally:
            connections.close_all()

    with ThreadPoolExecutor(TIMES) as pool:
        return sorted(pool.map(post, range(TIMES)))


def test_a_condensation_is_undone_once(browser: Client, talk: Conversation, tmp_path: Path) -> None:
    """The others are told that it was, and nothing else changes."""
    before = store.read_effective(talk.pk)
    attempt = record_for(talk, summarise(talk))
    path = reverse("undo_condensation", args=[talk.pk, attempt.pk])
    with database_in(tmp_path):
        revision = Conversation.objects.get().revision
        (first, *others) = at_once(browser, path)
        assert first == (204, "")
        assert others == 3 * [(422, "This condensation was undone already. Reload the page.")]
        assert [one.text for one in store.read_effective(talk.pk)] == [one.text for one in before]
        assert Conversation.objects.get().revision == revision + 1
        assert Condensation.objects.get().status == Condensation.Status.UNDONE


def test_a_rewind_is_undone_once(browser: Client, talk: Conversation, tmp_path: Path) -> None:
    """Likewise."""
    before = store.read_effective(talk.pk)
    rewind = services.rewind_conversation(conversation=talk, to_seq=2)
    path = reverse("undo_rewind", args=[talk.pk, rewind.pk])
    with database_in(tmp_path):
        revision = Conversation.objects.get().revision
        (first, *others) = at_once(browser, path)
        assert first == (204, "")
        assert others == 3 * [(422, "This rewind was undone already. Reload the page.")]
        assert store.read_effective(talk.pk) == before
        assert Conversation.objects.get().revision == revision + 1
        assert Rewind.objects.get().undone_at is not None


def test_a_conversation_is_rewound_once(
    browser: Client, talk: Conversation, tmp_path: Path
) -> None:
    """Not once for each click."""
    path = reverse("rewind", args=[talk.pk])
    with database_in(tmp_path):
        (first, *others) = at_once(browser, path, to_seq="2")
        assert first == (204, "")
        assert others == 3 * [(422, "This message was rewound already. Reload the page.")]
        assert Rewind.objects.get().messages_hidden == 3


def test_a_fact_is_put_back_once(browser: Client, talk: Conversation, tmp_path: Path) -> None:
    """The model reads it in one message."""
    attempt = record_for(talk, summarise(talk))
    attempt.receipt = [finding("make deploy", "missing")]
    attempt.save()
    path = reverse("put_back", args=[talk.pk, attempt.pk])
    with database_in(tmp_path):
        (first, *others) = at_once(browser, path, fact="0")
        assert first == (204, "")
        assert others == 3 * [(422, "The model has this fact already. Reload the page.")]
        told = [one.text for one in store.read_effective(talk.pk) if "make deploy" in one.text]
        assert len(told) == 1
