"""Redo over HTTP: from the row of what was undone, by its owner."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from chatapp.condensing.ratings import rate_summary
from chatapp.conversations import pins
from chatapp.models import AuditEntry, Condensation, Conversation, Message, message_store
from chatapp.page.transcript.audit_entries import audit_lines
from tests.chatapp.audited import condense_on_record, entries, problems, talk
from tests.chatapp.browsers import HTMX


def press(browser: Client, attempt: Condensation, name: str, later: int = 0) -> tuple[int, str]:
    """Press a button of a condensation's row; return status and what is said."""
    address = reverse(f"{name}_condensation", args=[attempt.conversation_id, attempt.pk])
    answer = browser.post(address, {"later": later} if later else {}, headers=HTMX)
    return answer.status_code, answer.text


def visible(conversation: Conversation) -> list[int]:
    """Return the numbers of what the model sees."""
    return [one.seq for one in message_store.read_effective(conversation.pk)]


@pytest.fixture
def first(conversation: Conversation) -> Condensation:
    """A condensation of four messages, with two more behind it."""
    talk(conversation, "Where is north?", "Up.", "And south?", "Down.")
    attempt = condense_on_record(conversation, trigger="auto", tokens_after=10)
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
    first.refresh_from_db()
    rate_summary(condensation=first, rating=1)
    lines = audit_lines(AuditEntry.objects.filter(conversation=conversation), None)["lines"]
    said = [(one.words, one.by, bool(one.sizes)) for one in reversed(lines)][-4:]
    assert said == [
        ("Condensation: condensed", "", True),
        ("Condensation: undone", "alice", False),
        ("Condensation: condensed, redone", "alice", True),
        ("Condensation: condensed, rated", "alice", False),
    ]


def test_condensations_are_undone_and_redone_one_below_the_other(
    browser: Client, conversation: Conversation, first: Condensation
) -> None:
    """The reason is said where another one has to go first, and its button is not there."""
    second = condense_on_record(conversation)
    redo = reverse("redo_condensation", args=[conversation.pk, second.pk])
    page = reverse("chat", args=[conversation.pk])
    talk(conversation, "West?")
    assert visible(conversation) == [8, 9]
    status, said = press(browser, first, "undo")
    assert (status, "Undo that first" in said) == (422, True)
    assert press(browser, second, "undo") == press(browser, first, "undo") == (204, "")
    assert visible(conversation) == [1, 2, 3, 4, 6, 7, 9]
    status, said = press(browser, second, "redo")
    assert (status, "what it built on was undone" in said) == (422, True)
    assert redo not in browser.get(page).text
    assert press(browser, first, "redo") == (204, "")
    assert redo in browser.get(page).text
    assert press(browser, second, "redo") == (204, "")
    assert visible(conversation) == [8, 9]


def test_a_condensation_in_the_same_place_keeps_an_older_one_from_being_redone(
    browser: Client, conversation: Conversation, first: Condensation
) -> None:
    """Until that one is undone: either can stand for the originals then, and the page says so.

    What was pinned since keeps it as well, for the summary does not carry that.
    """
    page = reverse("chat", args=[conversation.pk])
    button = reverse("redo_condensation", args=[conversation.pk, first.pk])
    shown = ("the model reads the originals", button)
    press(browser, first, "undo")
    pins.pin_message(conversation=conversation, seq=2)
    status, said = press(browser, first, "redo")
    assert (status, "would not see message 2 word for word" in said) == (422, True)
    assert visible(conversation) == [1, 2, 3, 4, 6, 7]
    pins.unpin_message(conversation=conversation, seq=2)
    assert all(one in browser.get(page).text for one in shown)
    other = condense_on_record(conversation)
    assert not any(one in browser.get(page).text for one in shown)
    assert press(browser, first, "redo")[0] == 422
    press(browser, other, "undo")
    assert press(browser, first, "redo") == (204, "")
    assert visible(conversation) == [5, 6, 7]
    assert press(browser, other, "redo")[0] == 422


@pytest.fixture
def stacked(conversation: Conversation, first: Condensation) -> list[Condensation]:
    """Three condensations, each standing on the one before it."""
    made = [first]
    for word in ("West?", "Where am I?"):
        made.append(condense_on_record(conversation))
        talk(conversation, word, "There.")
    return made


def preview(browser: Client, attempt: Condensation) -> tuple[int, str]:
    """Ask what undoing it with all that stands on it comes to."""
    address = reverse("undo_preview", args=[attempt.conversation_id, attempt.pk])
    answer = browser.get(address, headers=HTMX)
    return answer.status_code, answer.text


def test_one_that_later_ones_stand_on_is_undone_with_them_and_redone_at_once(
    browser: Client, conversation: Conversation, stacked: list[Condensation]
) -> None:
    """The numbers are said before; asking has changed nothing; each is on the chain."""
    first, second, _third = stacked
    before, page = visible(conversation), reverse("chat", args=[conversation.pk])
    assert reverse("undo_preview", args=[conversation.pk, first.pk]) in browser.get(page).text
    status, said = preview(browser, first)
    assert (status, "the 2 later condensations" in said, "of at most" in said) == (200, True, True)
    assert 'name="later" value="2"' in said
    assert visible(conversation) == before
    assert {press(browser, first, "undo", 2) for _twice in range(2)} == {(204, "")}
    assert visible(conversation) == [1, 2, 3, 4, 6, 7, 9, 10, 12, 13]
    told = [json.loads(entry.payload) for entry in entries(conversation)][-3:]
    assert [one["about"] for one in told] == [one.audited_as for one in reversed(stacked)]
    assert {one["facts"]["status"] for one in told} == {"undone"}
    assert "Redo this and 2 undone with it" in browser.get(page).text
    assert {press(browser, second, "redo") for _twice in range(2)} == {(204, "")}
    assert visible(conversation) == before
    assert {one.status for one in Condensation.objects.all()} == {"succeeded"}
    assert problems(conversation) == []


def test_what_would_not_fit_even_then_is_refused_with_the_numbers(
    browser: Client, conversation: Conversation, stacked: list[Condensation]
) -> None:
    """Before the question is asked, and when it is answered; the later ones stay as well.

    One that came since the question was asked is not taken along unasked.
    """
    Message.objects.filter(conversation=conversation, seq__lte=4).update(tokens=1_000_000)
    before = visible(conversation)
    for status, said in (preview(browser, stacked[0]), press(browser, stacked[0], "undo", 2)):
        assert status in {200, 422}
        assert "The originals need ≈ 4,0" in said
    assert visible(conversation) == before
    assert {one.status for one in Condensation.objects.all()} == {"succeeded"}
    condense_on_record(conversation)
    before = visible(conversation)
    status, said = press(browser, stacked[0], "undo", 2)
    assert (status, "Reload" in said) == (422, True)
    assert visible(conversation) == before
