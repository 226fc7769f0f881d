"""What was sent can be shown again, byte for byte, and its record costs next to nothing."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

import condense
from chatapp.models import Conversation, Fragment, Manifest, Message, ModelCall, message_store
from chatapp.providers import request_bytes
from chatapp.records.maintenance.integrity import find_changed
from chatapp.storage.request_log import LONGEST_CHAIN, pack
from tests.chatapp.conftest import summarise
from tests.chatapp.storage.recorded_session import Session, text


@pytest.fixture
def session(conversation: Conversation) -> Session:
    """A session without a message."""
    return Session(conversation)


def test_a_message_that_is_sent_as_it_is_stored_is_its_number(session: Session) -> None:
    """Only the marks of the prompt's cache are written down, and the head once."""
    session.say("user", condense.TextBlock("Begin"))
    for number in range(4):
        session.use_tool(number, "A long text. " * 50)
    session.send()
    *whole, first, between, second = session.added()
    assert (whole, between) == ([1, 2, 3, 4, 5, 6], 8)
    for seq, item in ((7, first), (9, second)):
        copy, text = item
        assert copy[:2] == (seq, 0)
        assert text == ',"cache_control":{"type":"ephemeral"}}]}'
    assert Fragment.objects.count() == 1


def test_a_record_is_the_difference_to_the_call_before(session: Session) -> None:
    """What is kept is counted, what is new is named."""
    session.say("user", condense.TextBlock("Begin"))
    for number in range(4):
        session.use_tool(number, "fine")
        session.send()
    last = session.last()
    assert (last.parent, last.kept) == (last.pk - 1, 4)
    numbers = [item if isinstance(item, int) else item[0][0] for item in session.added()]
    assert numbers == [5, 6, 7, 8, 9]
    assert not [*find_changed()]


def test_a_list_is_whole_after_so_many_calls_and_at_each_run(session: Session) -> None:
    """However long a conversation is, a request is put together from few records."""
    session.say("user", condense.TextBlock("Begin"))
    session.say("assistant", condense.TextBlock("Yes"))
    session.say("user", condense.TextBlock("Go on"))
    for _ in range(LONGEST_CHAIN + 1):
        session.send()
    session.begin()
    session.send()
    whole = Manifest.objects.filter(parent=None).order_by("pk").values_list("pk", flat=True)
    assert [pk - whole[0] for pk in whole] == [0, LONGEST_CHAIN, LONGEST_CHAIN + 1]


def test_what_no_message_holds_is_kept_once(session: Session) -> None:
    """An instruction, a merged message, a note in the place of a result: bytes like any others."""
    session.say("user", condense.TextBlock(text(300, 1)))
    instruction = condense.Message("user", text(300, 2))
    for _ in range(3):
        session.send((*session.history(), instruction))
    assert session.added() == []
    assert Fragment.objects.count() == 2
    assert not [*find_changed()]


@pytest.mark.parametrize(
    "content",
    [
        (condense.TextBlock("ä 😀 \x01 \u2028"), condense.TextBlock("b" * 300)),
        (condense.ToolUseBlock("c", "f", {"n": 2**70, "x": 1e300, "k": {"b": 1, "a": [None]}}),),
        (condense.OpaqueBlock({"type": "thinking", "thinking": "…", "signature": "s"}),),
        (condense.TextBlock("x", {"cache_control": {"type": "ephemeral"}}),),
        "plain",
    ],
)
def test_content_of_any_kind_leads_back(session: Session, content: condense.Content) -> None:
    """Large numbers, other alphabets, an order of keys, and marks that were imported."""
    session.say("user", condense.TextBlock("Begin"))
    message_store.append_message(
        session.conversation.pk, condense.Message("assistant", content), tokens=1
    )
    session.say("user", condense.TextBlock("Go on"))
    messages = session.history()
    fragments = [request_bytes.encode(message.to_api()) for message in messages]
    session.record(request_bytes.join(b"[", messages, fragments, b"]"))
    session.send()
    assert not [*find_changed()]


def sizes(conversation: Conversation) -> tuple[int, int]:
    """Return the bytes of a conversation's messages, and of the record of what was sent."""
    rows = Message.objects.filter(conversation=conversation).values_list("content", flat=True)
    said = sum(len(json.dumps(content)) for content in rows)
    kept = sum(len(data) + 80 for data in Fragment.objects.values_list("data", flat=True))
    manifests = Manifest.objects.values_list("data", flat=True)
    # Key, parent, number, head, digest, and the key's place in its index.
    kept += sum(len(data) + 60 for data in manifests)
    return said, kept


def test_the_record_takes_a_twentieth_of_the_conversation_at_most(session: Session) -> None:
    """A hundred calls with files of usual size, condensed now and then, in several runs."""
    session.say("user", condense.TextBlock(text(40, 0)))
    for number in range(100):
        session.use_tool(number, text(300 + 100 * (number % 9), number))
        session.send()
        if number % 20 == 19:
            session.say("assistant", condense.TextBlock(text(120, number)))
            session.say("user", condense.TextBlock(text(40, number)))
            session.begin()
        if number % 70 == 69:
            summarise(session.conversation)
            session.say("user", condense.TextBlock("Go on"))
    said, kept = sizes(session.conversation)
    assert kept / said < 0.05, (kept, said)
    assert not [*find_changed()]


def test_the_command_says_that_all_is_as_it_was_sent(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one sentence, with a count."""
    call_command("check_requests")
    session.say("user", condense.TextBlock("Begin"))
    session.send()
    session.send()
    call_command("check_requests")
    said = (f"All {count} requests can be shown as they were sent.\n" for count in (0, 2))
    assert capsys.readouterr().out == "".join(said)


@pytest.mark.parametrize("damage", ["message", "fragment", "list", "noise", "gone", "squashed"])
def test_the_command_names_what_was_changed(session: Session, damage: str) -> None:
    """Whatever part of the record somebody has touched."""
    session.say("user", condense.TextBlock("Begin"))
    session.send()
    match damage:
        case "message":
            Message.objects.update(content=[{"type": "text", "text": "Other"}])
        case "fragment":
            Fragment.objects.update(data=b"nothing")
        case "list":
            Manifest.objects.update(data=pack([1], b"]}"))
        case "noise":
            Manifest.objects.update(data=b"nothing")
        case "gone":
            Message.objects.update(seq=7)
        case "squashed":
            Manifest.objects.update(parent=1_000, kept=1)
    number = session.last().pk
    words = rf"1 of 1 requests can't be shown as they were sent: calls {number}\."
    with pytest.raises(CommandError, match=words):
        call_command("check_requests")
    session.last().call.delete()


def test_many_changed_requests_are_counted(session: Session) -> None:
    """The first are named; where the database can't be read, a sentence says so."""
    session.say("user", condense.TextBlock("Begin"))
    for _ in range(12):
        session.send()
    Manifest.objects.update(data=pack([1], b"]}"))
    with pytest.raises(CommandError, match=r"12 of 12 .* and 2 more\.$"):
        call_command("check_requests")
    ModelCall.objects.all().delete()

    def fail(*_args: Any) -> Any:
        raise OperationalError("disk I/O error")

    words = r"^The database can't be read to its end: disk I/O error\.$"
    with connection.execute_wrapper(fail), pytest.raises(CommandError, match=words):
        call_command("check_requests")


def test_two_conversations_share_nothing(session: Session, bob: object) -> None:
    """What one owner's model saw is no part of another's record."""
    other = Session(Conversation.objects.create(owner=bob))
    for one in (session, other):
        one.say("user", condense.TextBlock("Begin"))
        one.send()
    heads = Fragment.objects.values_list("conversation", flat=True)
    assert {*heads} == {session.conversation.pk, other.conversation.pk}
