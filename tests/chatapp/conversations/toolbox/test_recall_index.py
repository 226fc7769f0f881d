"""The index that recall reads: found messages come with those on both sides."""

from chatapp.conversations.toolbox.history_search import StoredRecall
from chatapp.models import Conversation
from tests.chatapp.conftest import Say


def test_a_found_message_is_read_with_its_neighbours(conversation: Conversation, say: Say) -> None:
    """It may answer the message before it; one of the next two may answer or correct it."""
    rows = [say("user" if number % 2 else "assistant", f"No. {number}") for number in range(1, 7)]
    conversation.messages.update(hidden=True)
    said = StoredRecall(conversation.pk).read([rows[2].pk])
    assert sorted(one.parts[0].text for one in said) == ["No. 2", "No. 3", "No. 4", "No. 5"]
