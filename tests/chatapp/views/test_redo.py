"""Redo over HTTP: from the row of what was undone, by its owner."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp import services
from chatapp.models import Condensation, Conversation, store
from tests.chatapp.audited import condense_on_record, entries, problems, talk

HTMX = {"HX-Request": "true"}


def press(browser: Client, attempt: Condensation, name: str) -> tuple[int, str]:
    """Press a button of a condensation's row; return status and what is said."""
    address = reverse(f"{name}_condensation", args=[attempt.conversation_id, attempt.pk])
    answer = browser.post(address, headers=HTMX)
    return answer.status_code, answer.text


def visible(conversation: Conversation) -> list[int]:
    """Return the numbers of what the model sees."""
    return [one.seq for one in store.read_effective(conversation.pk)]


@pytest.fixture
def first(conversation: Conversation) -> Condensation:
    """A condensation of four messages, with two more behind it."""
    talk(conversation, "Where is north?", "Up.", "And south?", "Down.")
    attempt = condense_on_record(conversation)
    talk(conversation, "East?", "Right.")
    return attempt


def test_what_was_undone_is_redone_from_its_row(
    browser: Client, conversation: Conversation, first: Condensation
) -> None:
    """What came since follows the summary; asked twice it is done once, and the chain tells."""
    page = reverse("chat", args=[conversation.pk])
    button = reverse("redo_condensation", args=[conversation.pk, first.pk])
    assert button not in browser.get(page).text
    assert press(browser, first, "undo") == (204, "")
    assert button in browser.get(page).text
    talk(conversation, "West?")
    assert visible(conversation) == [1, 2, 3, 4, 6, 7, 8]
    assert press(browser, first, "redo") == press(browser, first, "redo") == (204, "")
    assert visible(conversation) == [5, 6, 7, 8]
    assert button not in browser.get(page).text
    assert "Redone" in browser.get(page).text
    told = [json.loads(entry.payload)["facts"] for entry in entries(conversation)]
    assert [one["status"] for one in told][-2:] == ["undone", "succeeded"]
    assert told[-1]["redone_at"]
    assert problems(conversation) == []
    record = browser.get(reverse("audit", args=[conversation.pk])).text
    assert record.count("Condensation: condensed, redone") == 1


def test_condensations_are_undone_and_redone_one_below_the_other(
    browser: Client, conversation: Conversation, first: Condensation
) -> None:
    """The reason is said where another one has to go first, and nothing is changed."""
    second = condense_on_record(conversation)
    talk(conversation, "West?")
    assert visible(conversation) == [8, 9]
    status, said = press(browser, first, "undo")
    assert (status, "Undo that first" in said) == (422, True)
    assert press(browser, second, "undo") == press(browser, first, "undo") == (204, "")
    assert visible(conversation) == [1, 2, 3, 4, 6, 7, 9]
    status, said = press(browser, second, "redo")
    assert (status, "one that it went on from was undone" in said) == (422, True)
    assert press(browser, first, "redo") == press(browser, second, "redo") == (204, "")
    assert visible(conversation) == [8, 9]


def test_a_condensation_in_the_same_place_keeps_an_older_one_from_being_redone(
    browser: Client, conversation: Conversation, first: Condensation
) -> None:
    """Until that one is undone: either can stand for the originals then."""
    press(browser, first, "undo")
    other = condense_on_record(conversation)
    assert press(browser, first, "redo")[0] == 422
    press(browser, other, "undo")
    assert press(browser, first, "redo") == (204, "")
    assert visible(conversation) == [5, 6, 7]
    assert press(browser, other, "redo")[0] == 422


def test_what_was_pinned_since_keeps_its_undo(
    browser: Client, conversation: Conversation, first: Condensation
) -> None:
    """The summary does not carry it."""
    press(browser, first, "undo")
    services.pin_message(conversation=conversation, seq=2)
    status, said = press(browser, first, "redo")
    assert (status, "would not see message 2 word for word" in said) == (422, True)
    assert visible(conversation) == [1, 2, 3, 4, 6, 7]


def test_what_a_rewind_took_along_is_not_redone(
    browser: Client, conversation: Conversation, first: Condensation
) -> None:
    """Undoing the rewind comes first; one in whose originals was rewound stays undone."""
    press(browser, first, "undo")
    rewind = services.rewind_conversation(conversation=conversation, to_seq=3)
    status, said = press(browser, first, "redo")
    assert (status, "Undo the rewind first" in said) == (422, True)
    services.undo_rewind(rewind=rewind)
    assert press(browser, first, "redo") == (204, "")


def test_nobody_else_redoes_anything(bob: User, first: Condensation, browser: Client) -> None:
    """Not even to read it."""
    press(browser, first, "undo")
    stranger = Client()
    stranger.force_login(bob)
    assert press(stranger, first, "redo")[0] == 404
