"""What is wrong with a database is found and said, each in a sentence."""

import io
import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import condense
from chatapp.agent.errors import ToolError
from chatapp.conversations import pins
from chatapp.conversations.toolbox import history_search
from chatapp.models import (
    Condensation,
    Conversation,
    Message,
    ModelCall,
    Pin,
    Profile,
    Review,
    Turn,
)
from chatapp.models.accounts import prepare_owner
from chatapp.models.database import execute
from chatapp.models.databases import in_use
from chatapp.records.maintenance import moves
from chatapp.records.maintenance.audit_seals import make_seal
from chatapp.records.maintenance.integrity import find_problems
from tests.chatapp.audited import raw, taken_back
from tests.chatapp.conftest import Say, summarise
from tests.chatapp.records.maintenance.conftest import Make
from tests.chatapp.web.api.programs import bearer
from tests.records import put_on_record


@pytest.fixture
def talk(conversation: Conversation, say: Say) -> Conversation:
    """A conversation with a condensation and messages behind it."""
    for text in ("Hello", "Hello yourself", "And now?"):
        say("user", text)
    summarise(conversation, keep=1)
    return conversation


def problems() -> list[str]:
    """Return what is found."""
    return list(find_problems())


@pytest.mark.parametrize(
    ("seq", "columns", "said"),
    [
        (3, {}, ()),
        (3, {"hidden": True}, ("is hidden, and nothing says why",)),
        (1, {"hidden": False}, ("is visible, and its tags hide it",)),
        (3, {"condense_parent": uuid.uuid4()}, ("is hidden by a condense that is not there",)),
        (3, {"truncation_parent": uuid.uuid4()}, ("is hidden by a truncation that is not there",)),
        (
            3,
            {"rewind_parent": uuid.uuid4()},
            ("is visible, and its tags hide it", "is hidden by a rewind that is not there"),
        ),
        (4, {"hides": [[1, 1]]}, ("hides something else than it says",)),
        (3, {"seq": 9, "position": 9}, ("has a number that was never handed out",)),
    ],
)
def test_a_message_that_its_tags_contradict_is_found(
    talk: Conversation, seq: int, columns: dict[str, Any], said: tuple[str, ...]
) -> None:
    """Whoever hides a message is on record; nothing is said where nothing is wrong."""
    row = Message.objects.get(seq=seq)
    Message.objects.filter(pk=row.pk).update(**columns)
    assert problems() == [f"Message {row.pk} {one}." for one in said]


def test_content_that_can_not_be_read_is_found_and_counted(talk: Conversation) -> None:
    """Five are named, the rest counted."""
    for seq in range(10, 17):
        Message.objects.create(
            conversation=talk, seq=seq, position=seq, role="user", tokens=1, content={"a": 1}
        )
    Conversation.objects.update(last_seq=20)
    assert [one for one in problems() if "can't be read" in one or "more" in one][-1] == (
        "And 2 more of these."
    )


def test_breaks_of_a_chain_are_counted_too(talk: Conversation, say: Say) -> None:
    """Of each chain."""
    for number in range(4):
        say("user", f"what was said {number}")
    make_seal()
    with taken_back():
        raw(Message).filter(conversation=talk).update(role="assistant")
        found = problems()
    assert sum(one.startswith(f"Conversation {talk.pk}: Message ") for one in found) == 5
    assert found[-1] == "And 3 more of these."


@pytest.mark.sqlite("another database has no files that a reader could find damaged")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kept", [10, 0])
def test_a_damaged_index_of_words_is_found_and_made_anew(
    talk: Conversation, browser: Client, kept: int
) -> None:
    """Search says so meanwhile, in a sentence, wherever words are looked for."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM chatapp_message_index_data WHERE id > %s", [kept])
    connection.close()  # It may have been read already.
    said = "The index that search uses is damaged: `manage.py rebuild_search` makes it anew."
    assert problems() == [said]
    beside = browser.get(reverse("search"), {"q": "yourself"}, headers={"HX-Request": "true"})
    assert "Search in messages is out of order" in beside.text
    inside = browser.get(reverse("find", args=[talk.pk]), {"q": "yourself"}).json()
    assert (inside["places"], "out of order" in inside["problem"]) == ([], True)
    with pytest.raises(ToolError, match="out of order"):
        history_search.search(talk.pk, "yourself", 5)
    asked = {"name": "search", "arguments": {"query": "yourself"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    program = Client(headers=bearer(talk.owner, "read"))
    told = program.post("/api/mcp", message, "application/json").json()["result"]
    assert (told["isError"], "out of order" in told["content"][0]["text"]) == (True, True)
    call_command("rebuild_search", stdout=io.StringIO())
    assert problems() == []
    found = browser.get(reverse("find", args=[talk.pk]), {"q": "yourself"}).json()
    assert (len(found["places"]), found["problem"]) == (1, "")


def test_a_damaged_message_says_so_in_its_row(
    talk: Conversation, browser: Client, say: Say
) -> None:
    """The page shows all others, and the check names it."""
    sound = [say("user", "Well?") for _ in range(3)]
    damage: tuple[Any, ...] = (5, [None], {"type": "text"})
    for row, content in zip(sound, damage, strict=True):
        Message.objects.filter(pk=row.pk).update(content=content)
    for name in ("chat", "transcript", "inspector", "export_markdown"):
        page = browser.get(reverse(name, args=[talk.pk]))
        assert (name, page.status_code) == (name, 200)
    shown = browser.get(reverse("chat", args=[talk.pk])).text
    assert shown.count("This message is damaged") == len(sound)
    assert "And now?" in shown
    assert {f"Message {row.pk} can't be read." for row in sound} <= {*problems()}
    for row in sound:
        Message.objects.filter(pk=row.pk).update(content=row.content)


def test_a_message_that_search_does_not_know_is_found(talk: Conversation) -> None:
    """As after a trigger was lost; of markers only the summary of a part has words for people."""
    if connection.vendor == "sqlite":
        execute("DROP TRIGGER chatapp_message_index_insert")
    rows = [
        Message.objects.create(
            conversation=talk,
            seq=seq,
            position=seq,
            role="user",
            tokens=1,
            truncation_id=uuid.uuid4() if seq > 8 else None,
            content=condense.content_to_api((condense.TextBlock(text),)),
        )
        for seq, text in (
            (8, "Unseen"),
            (9, "## Conversation Summary\nWhat was said."),
            (10, "2 were cut."),
        )
    ]
    Conversation.objects.update(last_seq=10)
    if connection.vendor == "postgresql":
        execute("DELETE FROM chatapp_message_index WHERE rowid >= %s", rows[0].pk)
    assert problems() == [f"Search does not know message {row.pk}." for row in rows[:2]]
    call_command("rebuild_search", stdout=io.StringIO())
    assert problems() == []


def test_costs_are_added_up_to_the_last_place_and_a_record_that_disagrees_is_found(
    talk: Conversation,
) -> None:
    """0.1 and 0.2 make 0.3; a condensation costs what its calls cost, and has a summary."""
    record = put_on_record(talk, at_seq=1, cost=Decimal("0.3"), status="failed")
    for cost in ("0.1", "0.2"):
        ModelCall.objects.create(
            conversation=talk, condensation=record, purpose="summary", cost=Decimal(cost)
        )
    assert problems() == []
    record = put_on_record(talk, at_seq=1, cost=Decimal("0.5"))
    ModelCall.objects.create(
        conversation=talk, condensation=record, purpose="summary", cost=Decimal("0.25")
    )
    assert problems() == [
        f"Condensation {record.pk} has no summary.",
        f"Condensation {record.pk} costs something else than its calls.",
    ]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"status": "undone"}, "is undone in its record or in its message, and not in both"),
        ({"status": "failed"}, "came to nothing, and has a summary"),
        ({"status": "drafted"}, "came to nothing, and has a summary"),
        ({"status": "undone", "message": None}, "has no summary"),
    ],
)
def test_a_record_that_disagrees_with_its_message_is_found(
    talk: Conversation, columns: dict[str, Any], said: str
) -> None:
    """What was undone is so in both, and what came to nothing left nothing."""
    record = put_on_record(talk, at_seq=1, message=Message.objects.made_by_engine().get())
    assert problems() == []
    raw(Condensation).filter(pk=record.pk).update(**columns)
    assert problems() == [f"Condensation {record.pk} {said}."]


def test_pins_are_compared_with_their_messages(talk: Conversation) -> None:
    """On record and in force are the same, and so is every byte."""
    pins.pin_message(conversation=talk, seq=3)
    row = Message.objects.get(seq=3)
    assert problems() == []
    Message.objects.filter(pk=row.pk).update(pinned=None)
    assert problems() == [f"Message {row.pk} is not pinned, and a pin on it is on record."]
    Message.objects.filter(pk=row.pk).update(pinned=True)
    Pin.objects.all().change(unpinned_at=timezone.now())
    assert problems() == [f"Message {row.pk} is pinned, and no pin is on record."]
    Pin.objects.all().change(unpinned_at=None)
    digest = Pin.objects.get().digest
    raw(Pin).update(digest="0" * 64)
    assert problems()[0] == f"Message {row.pk} is not what it was when it was pinned."
    raw(Pin).update(digest=digest)


def test_a_review_that_no_turn_waits_for_is_found(talk: Conversation) -> None:
    """It could never be answered."""
    turn = Turn.objects.create(conversation=talk, origin="condensed")
    record = put_on_record(talk, at_seq=1, status="running", turn=turn)
    review = Review.objects.create(condensation=record, ordinal=1)
    assert problems() == []
    Turn.objects.update(finished_at=timezone.now())
    assert problems() == [f"Review {review.pk} waits, and no turn for it."]


def test_a_key_of_another_server_is_found(talk: Conversation) -> None:
    """As after a restore without the secret key."""
    prepare_owner()
    profile = Profile.objects.first()
    assert profile
    Profile.objects.filter(pk=profile.pk).update(encrypted_key="gAAAAA")
    server = talk.owner.mcp_servers.create(name="x", address="x", encrypted_secrets="gAAAAA")
    assert sorted(problems()) == [
        f"The key of profile {profile.pk} can't be read with this secret key.",
        f"The secrets of mcp server {server.pk} can't be read with this secret key.",
    ]


@pytest.mark.sqlite("its file holds rows that another database refuses")
def test_a_row_that_names_one_that_is_not_there_and_a_damaged_file_are_found(
    talk: Conversation,
) -> None:
    """As after somebody deleted rows by hand; what the file's tables can't hold is found too."""
    Message.objects.filter(seq=3).update(turn=uuid.uuid4())
    assert problems() == ["A row of chatapp_message names one that is not there."]
    Message.objects.update(turn=None)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        cursor.execute("UPDATE chatapp_message SET tokens = -1 WHERE seq = 3")
        cursor.execute("PRAGMA ignore_check_constraints = OFF")
    assert problems() == [
        "The database file is damaged: CHECK constraint failed in chatapp_message."
    ]


def test_a_database_of_another_version_is_found(talk: Conversation) -> None:
    """Older or newer; what can be done about it is said."""
    recorder = MigrationRecorder(connection)
    recorder.record_applied("chatapp", "9999_better")
    assert problems() == ["The database is from a newer version: it has 9999_better."]
    recorder.record_unapplied("chatapp", "9999_better")
    recorder.migration_qs.filter(app="chatapp").delete()
    assert problems() == [
        "The database is from an older version: `manage.py migrate` brings it up to date."
    ]


# What somebody may have done to PostgreSQL's rows, the command that finds it, and what it says.
DONE = (
    ("DELETE FROM chatapp_message_index", "check_integrity", "Search does not know message"),
    ("UPDATE chatapp_message SET hidden = NOT hidden", "check_integrity", "and nothing says why"),
    ("DELETE FROM django_migrations WHERE app = 'chatapp'", "check_integrity", "older version"),
    ("UPDATE chatapp_fragment SET data = digest", "check_requests", "can't be shown as they were"),
    ("UPDATE chatapp_auditentry SET payload = '{}'", "verify_audit", "its hash does not fit"),
    ("UPDATE chatapp_message SET role = 'user'", "verify_audit", "is not what entry"),
    ("DROP TABLE chatapp_pin", "check_integrity", "could not be read to its end"),
)


@pytest.mark.rare
def test_planted_damage_is_found_on_postgresql(lived: Conversation, make_database: Make) -> None:
    """By the command that looks for it, in a sentence; without damage, each says that all is."""
    there = make_database("postgresql")
    moves.move(connections[DEFAULT_DB_ALIAS], there, lambda _line: None)
    with in_use(there):
        for command in ("check_integrity", "check_requests", "verify_audit", "rebuild_search"):
            call_command(command, stdout=io.StringIO())
        for statement, command, sentence in DONE:
            said = io.StringIO()
            with transaction.atomic():
                execute(statement)
                with pytest.raises(CommandError) as refusal:
                    call_command(command, stdout=said, stderr=said)
                transaction.set_rollback(True)
            assert sentence in f"{said.getvalue()} {refusal.value}"
        execute("DELETE FROM chatapp_message_index")
        call_command("rebuild_search", stdout=io.StringIO())
        assert problems() == []
