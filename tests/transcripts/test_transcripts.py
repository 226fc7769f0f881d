"""Recorded sessions import, open, condense, and come back exactly as they were."""

import hashlib
import json
import uuid
from io import StringIO
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from chatapp.condensing import undo
from chatapp.conversations import rewind
from chatapp.conversations.context.condense_requests import CondenseRequest
from chatapp.models import Condensation, Conversation, Message, Turn, message_store
from chatapp.page.live import incoming_frames
from chatapp.page.transcript import row_pages
from chatapp.turns import actions
from tests.chatapp.claude import answered_by
from tests.chatapp.queries import statements
from tests.chatapp.runs import ended
from tests.standin.server import Standin


@pytest.fixture
def imported(transcript: Path, alice: User) -> Conversation:
    """The file as a conversation of Alice's."""
    call_command("import_transcript", str(transcript), "--user", "alice", stdout=StringIO())
    return Conversation.objects.get(owner=alice)


def digest(conversation: Conversation) -> str:
    """Return a hash of what the model sees."""
    seen = [message.to_api() for message in message_store.read_effective(conversation.pk)]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


async def condense_now(conversation: Conversation) -> Condensation:
    """Press "Condense context", wait until it has ended, and return the record."""
    await actions.condense_now(conversation, CondenseRequest(uuid.uuid4()))
    await ended(conversation)
    # A summary that was found no good is on record before what stands in its place.
    attempts = Condensation.objects.select_related("message", "conversation")
    return await attempts.filter(conversation=conversation).alatest("started_at")


def test_a_recorded_session_opens_with_few_statements(
    imported: Conversation, alice: User, client: Client
) -> None:
    """The newest page of it, however long it is."""
    client.force_login(alice)
    with statements() as sent:
        response = client.get(reverse("chat", args=[imported.pk]))
    assert response.status_code == 200
    assert len(sent) < 40


def test_every_message_of_a_recorded_session_is_reached_page_by_page(
    imported: Conversation,
) -> None:
    """From the newest to the first; what has no row of its own stands in the row of its calls."""
    page = row_pages.page(imported)
    rows = list(page.rows)
    while page.older:
        page = row_pages.page(imported, before=page.older)
        rows = [*page.rows, *rows]
    messages = Message.objects.filter(conversation=imported).in_reading_order()
    assert [row.seq for row in rows] == [one.seq for one in messages if not one.holds_results]


@pytest.mark.usefixtures("transactional_db")
def test_a_recorded_session_condenses_offline_and_comes_back_as_it_was(
    imported: Conversation,
) -> None:
    """What the model sees afterwards is valid, smaller, and undone without a trace."""
    before = digest(imported)
    attempt = async_to_sync(condense_now)(imported)
    assert attempt.status == Condensation.Status.SUCCEEDED, attempt.error
    assert attempt.tokens_after is not None
    assert attempt.tokens_after < attempt.tokens_before
    undo.undo_condensation(condensation=attempt)
    assert digest(imported) == before


@pytest.mark.usefixtures("transactional_db")
def test_a_recorded_session_is_condensed_and_continued_by_a_strict_server(
    imported: Conversation, anthropic_standin: Standin
) -> None:
    """Every request on the way is one that the real API would accept."""
    anthropic_standin.window = 2_000_000
    limits = {"context_window": anthropic_standin.window, "max_output": 8_000}
    imported.profile = answered_by(
        imported.owner, "anthropic", "claude-sonnet-5", anthropic_standin.url, **limits
    )
    imported.save(update_fields=["profile"])
    before = digest(imported)
    assert async_to_sync(continue_with)(imported, "What is the next step?") == "succeeded"
    attempt = async_to_sync(condense_now)(imported)
    assert attempt.status == Condensation.Status.SUCCEEDED, attempt.error
    assert any(one.cost > 0 for one in Condensation.objects.filter(conversation=imported))
    assert async_to_sync(continue_with)(imported, "And after that?") == "succeeded"
    assert anthropic_standin.problems == []
    undo.undo_condensation(condensation=attempt)
    rewind.rewind_conversation(conversation=imported, first_hidden_seq=first_new(imported))
    assert digest(imported) == before


async def continue_with(conversation: Conversation, text: str) -> str:
    """Send a message and return how its turn ended."""
    command = incoming_frames.SendMessage(text, uuid.uuid4())
    await actions.send_message(conversation, command)
    await ended(conversation)
    return (await Turn.objects.aget(conversation=conversation, nonce=command.nonce)).status


def first_new(conversation: Conversation) -> int:
    """Return the number of the first message that was not imported."""
    new = conversation.messages.filter(turn__isnull=False)
    return new.order_by("seq").values_list("seq", flat=True)[0]
