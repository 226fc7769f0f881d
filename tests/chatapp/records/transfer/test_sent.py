"""What was sent before a conversation was exported is rebuilt after it was imported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import condense
from chatapp.conversations import pins
from chatapp.models import Conversation, Fragment, Manifest, errors
from chatapp.storage.request_reader import RequestReader
from tests.chatapp.conversations.carried_pins import carrying
from tests.chatapp.records.transfer.lives import read, said, write
from tests.chatapp.storage.recorded_session import Session


@pytest.fixture
def session(conversation: Conversation) -> Session:
    """A conversation of some requests, with a pin that a summary carries."""
    session = Session(conversation)
    session.say("user", condense.TextBlock("Begin “here” 😀."))
    for number in range(4):
        session.use_tool(number, "A long text. " * 50)
        session.send()
    pins.pin_message(conversation=conversation, seq=1)
    carrying(conversation, *conversation.messages.order_by("seq")[:3])
    session.begin()
    session.send()
    session.say("user", condense.TextBlock("Go on."))
    session.send()
    conversation.calls.update(status="succeeded")
    return session


def bodies(conversation: Conversation) -> list[bytes]:
    """Return all that was sent, as it is rebuilt."""
    reader = RequestReader(conversation.pk)
    sent = Manifest.objects.filter(call__conversation=conversation).order_by("pk")
    return [reader.read(one) for one in sent]


def test_every_request_is_rebuilt_identically(session: Session, tmp_path: Path) -> None:
    """Also those with what a summary carries, whose words name messages; as often as one likes."""
    first = write(session.conversation)
    made = read(first, session.conversation.owner, tmp_path)
    assert len(bodies(made)) == 6
    assert bodies(made) == bodies(session.conversation)
    second = write(made)
    assert said(second) == said(first)
    again = read(second, made.owner, tmp_path)
    assert bodies(again) == bodies(made)


def test_a_conversation_of_which_something_was_erased_is_imported(
    session: Session, tmp_path: Path
) -> None:
    """What was sent of that is gone; the other requests are as they were."""
    mine = session.conversation
    mine.messages.filter(seq=4).update(content=[])
    made = read(write(mine), mine.owner, tmp_path)
    assert bodies(made) == bodies(mine)
    assert made.messages.get(seq=4).content == []
    assert said(write(made)) == said(write(mine))
    # Each test's end looks whether all that is on record is whole.
    Conversation.objects.filter(pk__in=(mine.pk, made.pk)).delete()


SPOILS: dict[str, Callable[[dict[str, Any]], object]] = {
    "another digest": lambda told: told["requests"][1].update(digest="0" * 64),
    "another message": lambda told: told["messages"][0].update(content="Never said."),
    "another fragment": lambda told: told["fragments"][0].update(text="{}"),
    "a call that is not there": lambda told: told["requests"][0].update(call=99),
    "its own parent": lambda told: told["requests"][1].update(parent=2),
    "all messages there could be": lambda told: told["requests"][0].update(items=[[1, 10**9]]),
    "no items": lambda told: told["requests"][0].update(items=None),
    "a bomb": lambda told: told["requests"][0].update(items=[[1, 1]] * 200_001),
}


def test_a_request_that_was_not_so_is_refused(session: Session, tmp_path: Path) -> None:
    """With the whole file."""
    written, before = write(session.conversation), Fragment.objects.count()
    for name, spoil in SPOILS.items():
        told = json.loads(written) | {"pins": []}
        spoil(told)
        with pytest.raises(errors.Refused, match="not what was sent"):
            read(json.dumps(told).encode(), session.conversation.owner, tmp_path)
        assert Fragment.objects.count() == before, name
