"""Tokens of Alice's, whose requests the stand-in answers."""

from collections.abc import AsyncIterator

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from tests.chatapp.claude import answered_by
from tests.chatapp.gateway.programs import token_of
from tests.standin.raw_server import RawServer, raw_server
from tests.standin.server import Standin


@pytest.fixture
def claude_token(standin: Standin, alice: User) -> str:
    """A token whose requests go to Claude."""
    return token_of(alice, answered_by(alice, "anthropic", "claude-opus-5", standin.url))


@pytest.fixture
def gpt_token(standin: Standin, alice: User) -> str:
    """A token whose requests go to a server that speaks OpenAI's API."""
    return token_of(alice, answered_by(alice, "openai", "gpt-6.1-sol", f"{standin.url}/v1"))


@pytest.fixture
async def upstream(transactional_db: None) -> AsyncIterator[RawServer]:
    """A server that speaks any API."""
    async with raw_server() as server:
        yield server


@pytest.fixture
async def token(upstream: RawServer, alice: User) -> str:
    """A token of Alice's whose requests reach that server."""

    def make() -> str:
        answered_by(alice, "openai", "gpt-6.1-sol", f"{upstream.url}/v1")
        return token_of(alice, answered_by(alice, "anthropic", "claude-opus-5", upstream.url))

    return await sync_to_async(make)()
