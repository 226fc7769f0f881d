"""The provider, and a conversation that is long enough to be condensed."""

import pytest

from chatapp.models import Conversation
from tests.chatapp.scripted_turns import ask, end
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]

LONG = " ".join(map(str, [*range(100, 725)] * 3))


@pytest.fixture
def standin(transactional_db: None, anthropic_standin: Standin) -> Standin:
    """The provider."""
    return anthropic_standin


def talk_long(conversation: Conversation) -> Conversation:
    """Have two long questions answered in a conversation, which is some 9,000 tokens then."""
    for text in ("The first answer.", "The second answer."):
        end(ask(conversation, LONG), text)
    conversation.messages.filter(role="user").update(tokens=3_750)
    return conversation
