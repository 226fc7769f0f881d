"""Pages read beside what is written, whoever is writing and however long that takes."""

import asyncio
import threading

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from chatapp.models import Conversation, message_store
from chatapp.models.database import reading
from chatapp.turns.active_conversations import active
from tests.chatapp.conftest import Say
from tests.chatapp.sockets import PATIENCE, open_page

pytestmark = pytest.mark.django_db(transaction=True)


class Writer:
    """A write that takes until it is told to end."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self) -> None:
        """Change something, and be slow to commit it."""
        with transaction.atomic():
            message_store.note_record(self.conversation.pk)
            self.begun.set()
            self.may_end.wait(PATIENCE)


async def test_a_page_opens_while_something_is_being_written(
    conversation: Conversation, alice: User, say: Say
) -> None:
    """It shows what is committed, and waits for nothing."""
    await sync_to_async(say)("user", "Hello")
    # Whoever is first ends what a crash left behind, which is a write.
    await active.clear_up()
    write = Writer(conversation)
    writing = asyncio.create_task(sync_to_async(write)())
    await asyncio.to_thread(write.begun.wait, PATIENCE)
    async with open_page(conversation, alice) as page:
        assert page.frames[-1]["revision"] == 1
        assert not writing.done()
        write.may_end.set()
        await writing


async def test_what_is_committed_is_read_at_once(conversation: Conversation, say: Say) -> None:
    """Each write, by the next read."""
    for number in range(1, 4):
        await sync_to_async(say)("user", "Hello")
        assert len(await reading(message_store.read_effective)(conversation.pk)) == number
