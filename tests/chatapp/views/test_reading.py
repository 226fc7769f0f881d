"""Reading needs no writing: pages open while the database is locked by somebody else."""

import sqlite3
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.urls import reverse

from chatapp.models import Conversation
from tests.chatapp.conftest import Say, summarise

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = [
    "conversations",
    "condensations",
    "profiles",
    "new_profile",
    "settings",
    "search",
    "healthz",
    "readyz",
]
OF_ONE = ["chat", "transcript", "rename"]


@pytest.fixture
def locked(
    browser: Client, conversation: Conversation, say: Say
) -> Iterator[tuple[Client, Conversation]]:
    """Alice's browser and a conversation, while another process writes for ever."""
    for number in range(3):
        say("user", f"Message {number}.")
    summarise(conversation)
    address = reverse("new_conversation")
    waiting = browser.post(address, {"prompt": "Not sent yet."})["Location"]
    writer = sqlite3.connect(connection.settings_dict["NAME"], uri=True, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with connection.cursor() as cursor:
        # What is locked for ever need not be waited for.
        cursor.execute("PRAGMA busy_timeout = 0")
    with pytest.raises(OperationalError), transaction.atomic():
        User.objects.update(first_name="x")
    assert browser.get(waiting).status_code == 200
    yield browser, conversation
    writer.execute("ROLLBACK")
    writer.close()


@pytest.mark.parametrize("name", [*PAGES, *OF_ONE])
def test_every_page_can_be_read_while_nothing_can_be_written(
    name: str, locked: tuple[Client, Conversation]
) -> None:
    """A full disk and a long backup look the same from here."""
    browser, conversation = locked
    address = reverse(name, args=[conversation.pk] if name in OF_ONE else [])
    part = {"HX-Request": "true"} if name == "search" else {}
    assert browser.get(address, headers=part).status_code == 200


def test_what_would_write_is_refused_in_words(locked: tuple[Client, Conversation]) -> None:
    """And nothing changed."""
    browser, conversation = locked
    address = reverse("rename", args=[conversation.pk])
    answer = browser.post(address, {"title": "New"}, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert "could not save this; nothing changed. Something else is being saved" in answer.text
