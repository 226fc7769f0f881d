"""Programs of Alice's."""

import pytest
from django.contrib.auth.models import User

from chatapp.models import Conversation
from tests.chatapp.web.api.programs import Manager, Sender


@pytest.fixture
def sender(conversation: Conversation) -> Sender:
    """A program that may write."""
    return Sender(conversation)


@pytest.fixture
def manager(alice: User) -> Manager:
    """A program that may change settings."""
    return Manager(alice)
