"""What is being written is stored meanwhile: soon, for all at once, and at nobody's expense."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection

import condense
from chatapp.agent import events
from chatapp.agent.ports import CallOpening, PartialReply, Purpose
from chatapp.conversations.context import sizes
from chatapp.models import Conversation, ModelCall, Turn
from chatapp.models.calls import read_draft
from chatapp.storage import partial_replies
from chatapp.storage.journal import ConversationJournal
from chatapp.storage.partial_replies import PartialReplyWriter, RetriedWrites
from tests.chatapp.agent.fakes import RecordingAudience
from tests.chatapp.runs import run_in
from tests.chatapp.storage_faults import broken
from tests.standin.fixtures import anthropic_standin

__all__ = ["anthropic_standin"]

pytestmark = pytest.mark.django_db(transaction=True)


class Pen:
    """A call's text while it grows; ``read`` is told when it is read."""

    def __init__(self, turn: Turn, number: int) -> None:
        self.turn = turn
        self.number = number
        self.text = ""
        self.reads = 0
        self.was_read = asyncio.Event()

    def read(self) -> PartialReply:
        self.reads += 1
        self.was_read.set()
        return PartialReply([{"type": "text", "text": self.text}], condense.Usage(input=7))


async def pens(conversation: Conversation, count: int) -> list[Pen]:
    """Return that many open calls."""
    run = await sync_to_async(run_in)(conversation)
    scale = await sync_to_async(sizes.Scale.read)(run)
    journal = ConversationJournal(run, scale, RetriedWrites(RecordingAudience()))
    calls = [await journal.open_call(CallOpening(Purpose.CHAT)) for _ in range(count)]
    return [Pen(run.turn, number) for number in calls]


async def settled(writer: PartialReplyWriter) -> None:
    """Return once nothing is left to write."""
    while writer.task:
        await asyncio.wait({writer.task})


def text_of(call: ModelCall) -> str:
    """Return the text of a call's draft."""
    return "".join(block["text"] for block in json.loads(read_draft(call)))


read_text = sync_to_async(text_of)


async def test_many_changes_are_few_writes(conversation: Conversation) -> None:
    """The newest state is written, with what was reported; after the call's end, nothing."""
    (pen,), writer = await pens(conversation, 1), PartialReplyWriter()
    for _ in range(1_000):
        pen.text += "word "
        writer.keep(pen.number, pen.read, turn=pen.turn, at_once=True)
    await settled(writer)
    call = await ModelCall.objects.aget()
    assert (await read_text(call), call.tokens_input) == (pen.text, 7)
    assert pen.reads <= 2
    await call.pieces.all().adelete()
    await ModelCall.objects.aupdate(status="succeeded")
    pen.text = "late"
    writer.keep(pen.number, pen.read, turn=pen.turn, at_once=True)
    await settled(writer)
    assert not await call.pieces.aexists()


async def test_all_drafts_of_a_process_are_one_transaction(conversation: Conversation) -> None:
    """A hundred streams cost hardly more writes than one."""
    many, writer = await pens(conversation, 20), PartialReplyWriter()
    statements: list[str] = []

    def note(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        statements.append(sql)
        return execute(sql, *rest)

    wrappers = partial_replies.THREAD.submit(lambda: connection.execute_wrappers).result()
    wrappers.append(note)
    for pen in many:
        writer.keep(pen.number, pen.read, turn=pen.turn, at_once=False)
    await settled(writer)
    wrappers.remove(note)

    # PostgreSQL gets them all at once.
    once = [sql for sql in statements if sql.startswith("BEGIN")]
    assert len(once if connection.vendor == "sqlite" else statements) == 1
    assert await ModelCall.objects.exclude(pieces=None).acount() == 20


async def test_a_write_that_fails_is_made_again(
    conversation: Conversation, caplog: pytest.LogCaptureFixture
) -> None:
    """And ends nothing: whoever writes is told nothing of it, and the log once."""
    (pen,), writer = await pens(conversation, 1), PartialReplyWriter()
    async with broken("INSERT ON chatapp_draftpiece", for_good=True):
        pen.text = "kept"
        writer.keep(pen.number, pen.read, turn=pen.turn, at_once=True)
        for _ in range(3):
            await pen.was_read.wait()
            pen.was_read.clear()
    await settled(writer)
    assert await read_text(await ModelCall.objects.aget()) == "kept"
    assert [one.levelname for one in caplog.records] == ["WARNING"]


async def test_a_read_that_fails_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As while the database is restarted; whoever watches is told, and the last error is raised."""
    monkeypatch.setattr(partial_replies, "WAITS", (0.0, 0.0))
    errors, audience = [OperationalError("gone")] * 5, RecordingAudience()

    def read(what: str, *, so: str) -> str:
        if errors:
            raise errors.pop()
        return what + so

    with pytest.raises(OperationalError, match="gone"):
        await RetriedWrites(audience).read(read, "It is ", so="there.")
    assert await RetriedWrites(audience).read(read, "It is ", so="there.") == "It is there."
    told = audience.of(events.RetryScheduled)
    assert [one.attempt for one in told] == [2, 3, 2, 3]
    assert "could not read what is stored" in told[0].reason
