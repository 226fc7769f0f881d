"""Pages read on connections of their own, and see what is committed."""

import pytest
from asgiref.sync import sync_to_async

from chatapp.models import Conversation, message_store
from chatapp.models.database import reading
from tests.chatapp.conftest import Say

pytestmark = pytest.mark.django_db(transaction=True)


async def test_what_is_committed_is_read_at_once(conversation: Conversation, say: Say) -> None:
    """Each write, by the next read."""
    for number in range(1, 4):
        await sync_to_async(say)("user", "Hello")
        assert len(await reading(message_store.read_effective)(conversation.pk)) == number
