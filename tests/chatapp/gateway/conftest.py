"""Tokens of Alice's, whose requests the stand-in answers."""

import pytest
from django.contrib.auth.models import User

from tests.chatapp.claude import answered_by
from tests.chatapp.gateway.programs import token_of
from tests.standin.server import Standin


@pytest.fixture
def claude_token(standin: Standin, alice: User) -> str:
    """A token whose requests go to Claude."""
    return token_of(alice, answered_by(alice, "anthropic", "claude-opus-5", standin.url))


@pytest.fixture
def gpt_token(standin: Standin, alice: User) -> str:
    """A token whose requests go to a server that speaks OpenAI's API."""
    return token_of(alice, answered_by(alice, "openai", "gpt-6.1-sol", f"{standin.url}/v1"))
