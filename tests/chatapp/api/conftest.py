"""Programs of Alice's, and a conversation that a stand-in answers."""

import pytest
from django.contrib.auth.models import User

from chatapp.models import Conversation
from tests.chatapp.api.programs import Manager, Sender
from tests.chatapp.claude import converse
from tests.standin.fixtures import anthropic_standin
from tests.standin.server import Standin

__all__ = ["anthropic_standin"]


@pytest.fixture
def conversation(alice: User, anthropic_standin: Standin) -> Conversation:
    """A conversation that the stand-in answers."""
    return converse(alice, anthropic_standin)


@pytest.fixture
def sender(conversation: Conversation) -> Sender:
    """A program that may write."""
    return Sender(conversation)


@pytest.fixture
def manager(alice: User) -> Manager:
    """A program that may change settings."""
    return Manager(alice)
