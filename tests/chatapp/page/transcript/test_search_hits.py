"""Hits of a search: whose they are, and why the model does not see them."""

import uuid

from django.contrib.auth.models import User

import condense
from chatapp.models import Conversation, Rewind, hidden_messages, message_store
from chatapp.page.transcript.search_hits import find_hits
from tests.chatapp.conftest import Say, reduction_of, summarise
from tests.records import put_on_record


def facts(owner: User, words: str) -> list[str]:
    """Return what is said of each hit."""
    hits = [hit for found in find_hits(owner, words) for hit in found.hits]
    return sorted(" · ".join(filter(None, (hit.who, hit.hidden))) for hit in hits)


def test_hidden_messages_are_found_and_say_why_they_are(
    alice: User, conversation: Conversation, say: Say
) -> None:
    """By a condensation, a truncation or a rewind, or for another version; a summary is named."""
    say("user", "compass one")
    summary = summarise(conversation)
    say("assistant", "compass two")
    visible = message_store.read_effective(conversation.pk)
    tags = condense.Tags(truncation_id=uuid.uuid4().hex)
    marker = condense.Message(role="user", content="cut", tags=tags)
    cut = hidden_messages.apply_reduction(conversation.pk, reduction_of(marker, (visible[1].id,)))
    say("user", "compass three")
    hidden_messages.rewind(conversation.pk, first_hidden_seq=5)
    result = condense.ToolResultBlock("c1", "compass four")
    message_store.append_message(conversation.pk, condense.Message("user", (result,)), tokens=1)
    assert sorted(facts(alice, "compass")) == [
        "Agent · hidden by a truncation",
        "Tool",
        "You · hidden by a condensation",
        "You · rewound",
    ]
    assert facts(alice, "what was said") == ["Summary"]
    say("user", "compass five")
    hidden_messages.rewind(conversation.pk, first_hidden_seq=7, cause=Rewind.Cause.EDITED)
    assert facts(alice, "compass five") == ["You · another version"]
    # The summary of a part is one, whatever the tag is called that it hides by.
    put_on_record(conversation, at_seq=3, message=cut, kind="condensed")
    assert "Agent · hidden by a condensation" in facts(alice, "compass two")
    hidden_messages.undo_reduction(summary)
    assert "You" in facts(alice, "compass one")
    assert facts(alice, "what was said") == ["Summary · undone"]
