"""A connection that breaks around COMMIT: what is stored runs, once, and nobody is misled."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import ExitStack, closing, suppress

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection

from chatapp.models import Conversation, Message, Turn
from chatapp.models.databases import in_use, opened
from chatapp.models.errors import not_saved
from chatapp.page.live.incoming_frames import SendMessage
from chatapp.turns import actions
from chatapp.turns.running_turns import running_turns
from tests.chatapp.runs import ended

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql("SQLite has no connection that could break"),
]


class Cutter:
    """A proxy before PostgreSQL that cuts each connection at its first COMMIT.

    That is passed on where ``stores``, and its answer is not. From then on it takes no other one
    where it ``is_away``.
    """

    def __init__(self) -> None:
        self.stores, self.cut, self.is_away = True, 0, False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes from either side, up to the first COMMIT of all."""
        if self.cut and self.is_away:
            writer.close()
            return
        own = connection.settings_dict
        back, forth = await asyncio.open_connection(own["HOST"], int(own["PORT"] or 5432))
        answers = asyncio.create_task(self._pass(back, writer))
        with closing(forth), closing(writer):
            while data := await reader.read(65_536):
                if b"COMMIT" in data and not self.cut:
                    self.cut += 1
                    answers.cancel()
                    await asyncio.wait({answers})
                    if self.stores:
                        forth.write(data)
                        await back.read(65_536)
                    return
                forth.write(data)

    @staticmethod
    async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)


@pytest.fixture
async def cutter() -> AsyncIterator[Cutter]:
    """What stands between this process's writes and its database."""
    # Nothing else commits from now on.
    await running_turns.clear_up()
    cutter, stack = Cutter(), ExitStack()
    server = await asyncio.start_server(cutter.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    def enter() -> None:
        beside = {**connection.settings_dict, "HOST": "127.0.0.1", "PORT": str(port)}
        stack.enter_context(in_use(stack.enter_context(opened(beside))))

    await sync_to_async(enter)()
    yield cutter
    await sync_to_async(stack.close)()
    server.close()
    await server.wait_closed()


async def test_a_message_that_was_stored_is_answered_though_its_commit_was_not_heard_of(
    conversation: Conversation, cutter: Cutter
) -> None:
    """It is not refused, and sent again it is known."""
    command = SendMessage("Hello", uuid.uuid4())
    assert await actions.send_message(conversation, command)
    assert await actions.send_message(conversation, command) is None
    await ended(conversation)
    assert cutter.cut == 1
    assert (await Turn.objects.aget()).status == "succeeded"
    assert await Message.objects.filter(role="user").acount() == 1


async def test_a_turn_that_nobody_knows_of_is_ended_where_the_database_stays_away(
    conversation: Conversation, cutter: Cutter
) -> None:
    """Nobody could ask whether it was stored; it may not keep its conversation for ever."""
    cutter.is_away = True
    with pytest.raises(DatabaseError):
        await actions.send_message(conversation, SendMessage("Hello", uuid.uuid4()))
    cutter.is_away = False
    turn = await Turn.objects.aget()
    assert not turn.is_over
    await running_turns.look_after()
    await turn.arefresh_from_db()
    assert turn.status == "interrupted"


async def test_what_was_not_stored_is_refused_in_words_that_are_true(
    conversation: Conversation, cutter: Cutter
) -> None:
    """Nobody knows whether it was: nothing is claimed."""
    cutter.stores = False
    command = SendMessage("Hello", uuid.uuid4())
    with pytest.raises(DatabaseError) as failed:
        await actions.send_message(conversation, command)
    said = str(not_saved(failed.value))
    assert "Check whether it was saved" in said
    assert "nothing changed" not in said
    assert not await Turn.objects.aexists()
    assert await actions.send_message(conversation, command)
    await ended(conversation)
