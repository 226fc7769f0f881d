"""Recorded sessions import, open, condense, and come back exactly as they were."""

import hashlib
import json
import time
from io import StringIO
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from chatapp import services, store, turns
from chatapp.models import Condensation, Conversation

OPENS_WITHIN = 1.0  # seconds


@pytest.fixture
def imported(transcript: Path, alice: User) -> Conversation:
    """The file as a conversation of Alice's."""
    call_command("import_transcript", str(transcript), "--user", "alice", stdout=StringIO())
    return Conversation.objects.get(owner=alice)


def digest(conversation: Conversation) -> str:
    """Return a hash of what the model sees."""
    seen = [message.to_api() for message in store.read_effective(conversation.pk)]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


async def condense_now(conversation: Conversation) -> Condensation:
    """Press "Condense context", wait until it has ended, and return the record."""
    await turns.condense_now(conversation, focus="")
    await turns.hub.room(conversation.pk).ended()
    return await Condensation.objects.select_related("message", "conversation").aget(
        conversation=conversation
    )


def test_a_recorded_session_opens_within_a_second(
    imported: Conversation, alice: User, client: Client
) -> None:
    """The newest page of it, rendered on the server."""
    client.force_login(alice)
    began = time.perf_counter()
    response = client.get(reverse("chat", args=[imported.pk]))
    seconds = time.perf_counter() - began
    assert response.status_code == 200
    assert seconds < OPENS_WITHIN


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
    services.undo_condensation(condensation=attempt)
    assert digest(imported) == before
