"""Long histories: what a page reads of one does not grow with it."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from chatapp.models import Conversation, Message
from tests.bench.conversations import make_conversation
from tests.chatapp.queries import rows_read
from tests.chatapp.web.api.programs import bearer

pytestmark = pytest.mark.django_db

LENGTHS = 1_000, 4_000
# Each is asked for with the number of a message in the middle.
DOORS = {
    "its page": "/c/{chat}/",
    "its page at a place": "/c/{chat}/?at={middle}",
    "its newest rows": "/c/{chat}/transcript/",
    "rows before others": "/c/{chat}/transcript/?before={middle}.0",
    "rows after others": "/c/{chat}/transcript/?after={middle}.0",
    "the next request": "/c/{chat}/inspector/",
    "what condensing costs": "/c/{chat}/forecast/",
    "its pins": "/c/{chat}/pins/",
    "what the model sees": "/api/conversations/{chat}/effective",
    "its messages": "/api/conversations/{chat}/messages",
}


@pytest.fixture
def histories(alice: User, conversation: Conversation) -> Iterator[list[Conversation]]:
    """One of each length, all visible, as after an import; every fourth message has a result."""
    made = [make_conversation(alice, conversation.profile, length) for length in LENGTHS]
    results = Message.objects.annotate(fourth=F("seq") % 4).filter(fourth=3)
    results.update(results=1, holds_results=True)
    yield made
    Conversation.objects.filter(pk__in=[one.pk for one in made]).delete()


def test_what_is_read_does_not_grow_with_a_history(
    histories: list[Conversation], browser: Client, alice: User
) -> None:
    """Through all doors, the same statements read the same number of rows; figures count all."""
    headers, answers = bearer(alice), dict[str, HttpResponse]()
    browser.get(reverse("manifest"))
    for door, address in DOORS.items():
        seen = []
        for one in histories:
            to = address.format(chat=one.pk, middle=one.last_seq // 2)
            with rows_read() as read:
                answers[door] = browser.get(to, headers=headers if to.startswith("/api") else {})
            assert answers[door].status_code == 200, door
            seen.append(Counter(read))
        assert seen[0] == seen[1], (door, (seen[1] - seen[0]).most_common(1))
    assert "3,000 messages and 1,000 tool results" in answers["its page"].content.decode()
    effective = json.loads(answers["what the model sees"].content)
    assert effective["tokens"] == 4_000 * 75
    numbers = [one["seq"] for one in effective["messages"]]
    assert numbers == [*range(effective["earlier"] + 1, 4_001)]
    inspector = answers["the next request"].content.decode()
    assert "3,796 earlier ones are not listed here" in inspector
