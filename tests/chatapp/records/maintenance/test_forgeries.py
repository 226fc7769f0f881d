"""Forgeries of the record by somebody who writes to the database, with and without the seal's key.

Each is found, by the check or by an older seal, or docs/audit.md says plainly that it is not.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from pytest_django import DjangoDbBlocker

from chatapp.conversations import conversations, pins
from chatapp.models import (
    AuditEntry,
    Condensation,
    Conversation,
    Deletion,
    Message,
    Pin,
    Question,
    Turn,
    audit,
)
from chatapp.models.audit import Recorded
from chatapp.records.maintenance import audit_check, audit_seals
from tests.chatapp.audited import ask, condense_on_record, entries, problems, raw, taken_back, talk

GUIDE = " ".join((Path(__file__).parents[4] / "docs" / "audit.md").read_text("utf-8").split())
FALSE = [{"type": "text", "text": "I never said so."}]

Act = Callable[[Conversation], object]


@pytest.fixture(scope="module")
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Two conversations of two messages and a summary (entry 1).

    In the second an approval was denied (2), and a message pinned for a while (3, 4).
    """
    with django_db_blocker.unblock(), taken_back():
        alice = User.objects.create_user("alice")
        for _ in range(2):
            one = conversations.start_conversation(owner=alice)
            talk(one, "Where is north?", f"Up, in {one.pk}.")
            condense_on_record(one)
        turn = Turn.objects.create(conversation=one, finished_at=timezone.now())
        Question.objects.filter(pk=ask(turn, 0).pk).change(status="denied", answer="No.")
        pins.mark(one.messages.get(seq=1))
        Pin.objects.change(unpinned_at=timezone.now())
        raw(Message).update(pinned=None)
        yield


@pytest.fixture
def record(database: None) -> Conversation:
    """The second of them; a test takes back all that it does."""
    return Question.objects.get().turn.conversation


def changed(model: type[models.Model], **columns: Any) -> Act:
    """Return what changes the conversation's rows of a kind."""

    def act(record: Conversation) -> None:
        path = "pk" if model is Conversation else getattr(model, "AUDITED_IN", "conversation_id")
        first = raw(model).filter(**{path: record.pk}).order_by("pk")[0]
        raw(model).filter(pk=first.pk).update(**columns)

    return act


def message_gone(record: Conversation) -> None:
    """Delete its first message."""
    raw(Message).filter(conversation=record, seq=1).delete()


def gone(model: type[models.Model]) -> Act:
    """Return what deletes the newest of all."""
    return lambda _: raw(model).filter(pk=model.objects.latest("pk").pk).delete()


def entered(kind: str, contents: Any = None, **told: Any) -> Act:
    """Return what appends an entry whose hash is right, as the head is."""

    def act(record: Conversation) -> None:
        audit.append(record.pk, kind, told=told, contents=contents)

    return act


def without(number: int) -> Act:
    """Return what deletes an entry."""
    return lambda one: raw(AuditEntry).filter(conversation=one, number=number).delete()


def renumbered(record: Conversation) -> None:
    """Number entries from 1 on."""
    for number, one in enumerate(entries(record), 1):
        raw(AuditEntry).filter(pk=one.pk).update(number=number)


def told_again(model: type[Recorded], **facts: Any) -> Act:
    """Return what appends an entry that tells of a row as it is now."""

    def act(record: Conversation) -> None:
        row = model.objects.filter(**{model.AUDITED_IN: record.pk}).get()
        name, texts = row.audited_as, row.contents()
        told = {"about": name, "facts": row.facts() | facts, "texts": [*texts]}
        audit.append(record.pk, model.KIND, told=told, contents={name: texts})

    return act


def emptied(*names: str) -> Act:
    """Return what takes salts out of all entries; all of them where none is named."""

    def act(record: Conversation) -> None:
        for one in entries(record):
            left = {name: salt for name, salt in one.openings.items() if {*names} - {name}}
            raw(AuditEntry).filter(pk=one.pk).update(openings=left)

    return act


def newest_emptied(record: Conversation) -> None:
    """Take the salts out of the newest entry."""
    raw(AuditEntry).filter(pk=entries(record)[-1].pk).update(openings={})


def erased(record: Conversation) -> None:
    """Have an entry name all that is there, as the deletion of the account does."""
    names = [*audit.names_in(record)]
    audit.append(record.pk, AuditEntry.Kind.ERASURE, told={"erased": names})


def account_deleted(record: Conversation) -> None:
    """Put down that the owner's account was deleted."""
    now = timezone.now()
    User.objects.update(is_active=False)
    Deletion.objects.create(user=record.owner, due_at=now, done_at=now)


def put_off(_record: Conversation) -> None:
    """Have the deletion be due some day."""
    raw(Deletion).update(done_at=None, due_at=timezone.now() + timedelta(days=9))


def rows_gone(record: Conversation) -> None:
    """Delete all that the chain tells of."""
    for model in (Pin, Question, Condensation, Message):
        path = getattr(model, "AUDITED_IN", "conversation_id")
        raw(model).filter(**{path: record.pk}).delete()


def cut_off(record: Conversation, number: int = 2) -> None:
    """Delete the entries behind this one, and have the conversation know it as the newest."""
    raw(AuditEntry).filter(conversation=record, number__gt=number).delete()
    last = entries(record)[-1].hash if number else ""
    chat = {"audit_number": number, "audit_hash": last, "audit_seq": 3 if number else 0}
    raw(Conversation).filter(pk=record.pk).update(**chat)


def written_anew(record: Conversation) -> None:
    """Have a chain of new hashes tell of other words."""
    raw(AuditEntry).filter(conversation=record).delete()
    cut_off(record, 0)
    changed(Message, content=FALSE)(record)
    for model in (Condensation, Question, Pin, Pin):
        model.objects.get(**{model.AUDITED_IN: record.pk}).enter()


def reordered(model: type[models.Model], name: str) -> Act:
    """Return what has two rows change their numbers."""

    def act(record: Conversation) -> None:
        first, second = raw(model).filter(conversation=record).order_by(name)[:2]
        for row, number in ((first, 99), (second, 1), (first, 2)):
            raw(model).filter(pk=row.pk).update(**{name: number})

    return act


def swapped(model: type[models.Model]) -> Act:
    """Return what has two conversations change their rows."""

    def act(record: Conversation) -> None:
        other = Conversation.objects.exclude(pk=record.pk).get()
        third = Conversation.objects.create(owner=record.owner)
        for one, to in ((record, third), (other, record), (third, other)):
            raw(model).filter(conversation=one).update(conversation=to)

    return act


def junk(table: str, column: str, value: str) -> Act:
    """Return what stores a value that the server never would."""

    def act(_record: Conversation) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE chatapp_{table} SET {column} = {value}")  # noqa: S608 - ours

    return act


def message_added(seq: int) -> Act:
    """Return what adds a message that nobody said."""

    def act(record: Conversation) -> None:
        said = {"role": "user", "content": FALSE, "tokens": 1}
        raw(Message).create(conversation=record, seq=seq, position=seq, **said)
        raw(Conversation).filter(pk=record.pk).update(last_seq=seq)

    return act


def approval_added(record: Conversation) -> None:
    """Add an approval that nobody gave."""
    ask(Turn.objects.get(conversation=record), 7, status="allowed")


class Forgery(NamedTuple):
    """Acts one after another, and the sentence of the check, of an older seal, or of the guide."""

    acts: tuple[Act, ...]
    check: str = ""
    seal: str = ""
    guide: str = ""


def found(check: str, *acts: Act) -> Forgery:
    """Return what the check says of."""
    return Forgery(acts, check)


def sealed(seal: str, *acts: Act) -> Forgery:
    """Return what only an older seal says of."""
    return Forgery(acts, "", seal, "a seal only")


def unseen(guide: str, *acts: Act) -> Forgery:
    """Return what nothing says of, as the guide does."""
    return Forgery(acts, guide=guide)


NO_FIT = "its hash does not fit"
CHANGED = "Message 1 is not what entry 1 has on record."
NO_DELETION = "tells of an erasure, and the account was not deleted."
UNREADABLE = "can't be read"
FORGED, EMPTIED = changed(Message, content=FALSE), changed(Message, content=[])
ALLOWED, RETOLD = changed(Question, status="allowed"), told_again(Condensation)
AGAIN = entered("seal", {"message 1": audit.said("user", FALSE)})
GONE = (erased, account_deleted, rows_gone)
ENTRY_5 = "Message 1 is not what entry 5 has on record."
FORGERIES = {
    # Entries.
    "an entry's kind": found(
        f"Entry 1 is not what was written: {NO_FIT}.", changed(AuditEntry, kind="seal")
    ),
    "its payload": found(NO_FIT, changed(AuditEntry, payload="{}")),
    "its moment": found(NO_FIT, changed(AuditEntry, at=timezone.now())),
    "its predecessor": found("does not follow", changed(AuditEntry, previous="0" * 64)),
    "its hash": found(NO_FIT, changed(AuditEntry, hash="0" * 64)),
    "an entry is gone": found("Entry 2 is missing.", without(2)),
    "… and the next numbered anew": found("does not follow", without(2), renumbered),
    "the newest": found("cut off: Entries 3 to 4 are missing.", without(3), without(4)),
    "… and the head": sealed("which was sealed, is missing.", cut_off),
    "all": sealed("which was sealed, is missing.", lambda one: cut_off(one, 0)),
    "all, written anew": sealed("is not the one that", written_anew),
    "a head elsewhere": found("as its newest", changed(Conversation, audit_hash="0" * 64)),
    "no whole number as a head": found(
        "cut off: Entry 5 is missing.", junk("conversation", "audit_number", "4.5")
    ),
    "entries in another order": found("does not follow", reordered(AuditEntry, "number")),
    "chains swapped": found("does not follow", swapped(AuditEntry)),
    "a number between": found("are missing", junk("auditentry", "number", "number + 90")),
    "salts that are none": found(UNREADABLE, junk("auditentry", "openings", "'7'")),
    "a kind nobody knows": found(UNREADABLE, entered("pardon")),
    **{
        f"a decision told as a {kind}": found(
            UNREADABLE, entered(kind, about="question 1", facts={}, texts=[])
        )
        for kind in ("pin", "seal")
    },
    # Messages.
    "a message": found(CHANGED, FORGED),
    "… and an erasure": found(CHANGED, FORGED, entered("erasure")),
    "… with names": found(CHANGED, FORGED, erased),
    "… of nobody": found(NO_DELETION, entered("erasure")),
    "… without salts": found("Message 1 can't be compared", FORGED, erased, emptied()),
    "… and a deletion": found(ENTRY_5, FORGED, erased, account_deleted, emptied()),
    "… on record again": found(CHANGED, FORGED, AGAIN),
    "what nobody changed, on record again": found(ENTRY_5, AGAIN),
    "its role": found(CHANGED, changed(Message, role="assistant")),
    "it is gone": found("is gone", gone(Message)),
    "… by an erasure": found("is gone", erased, gone(Message)),
    "… that names others": found(
        "Message 1, on record in entry 1, is gone.",
        entered("erasure", erased=["message 2"]),
        account_deleted,
        rows_gone,
    ),
    "… with an account": unseen(
        "Whoever writes to the database can delete an account as this server does", *GONE, emptied()
    ),
    "… of an account that goes on": found(
        NO_DELETION, *GONE, emptied(), lambda _: User.objects.update(is_active=True)
    ),
    "… that is to be deleted": found(NO_DELETION, *GONE, put_off),
    "… of one of them": found(
        "Message 2 is not what entry 5 has on record.",
        entered("erasure", erased=["message 1"]),
        account_deleted,
        emptied(),
        message_gone,
    ),
    "an erasure of what is there": found(ENTRY_5, erased, account_deleted),
    "a deletion taken back": found(NO_DELETION, *GONE, emptied(), lambda _: raw(Deletion).delete()),
    "emptied": found(CHANGED, EMPTIED),
    "… with its salt": unseen(
        "An emptied text whose salt is gone is not told from one that you have erased",
        EMPTIED,
        emptied("message 1"),
    ),
    "… and once more without one": found(
        CHANGED, EMPTIED, entered("seal", {"message 1": FALSE}), newest_emptied
    ),
    "another salt": found(
        "Message 1 is not what entry 1", changed(AuditEntry, openings={"message 1": "00" * 16})
    ),
    "its salt": found("Message 1 can't be compared", emptied("message 1")),
    "words swapped": found("Message 2 is not what", reordered(Message, "seq")),
    "messages swapped": found("Message 2 is not what", swapped(Message)),
    "a message added": unseen("so they can be changed and added", message_added(4)),
    "… as if on record": found(
        "Message 4 is on no entry.", message_added(4), changed(Conversation, audit_seq=4)
    ),
    "as if not yet on record": found("is gone", changed(Conversation, audit_seq=0)),
    "its place": unseen("places in reading order", changed(Message, position=9)),
    "its tags": unseen("Tags", changed(Message, undone=True)),
    # Records.
    "a decision": found('has "allowed" as its status, where entry 2 has "denied".', ALLOWED),
    "… told again": found('where entry 2 has "denied"', ALLOWED, told_again(Question)),
    "… as if not yet made": found(
        'where entry 2 has "denied"',
        told_again(Question, status="pending"),
        ALLOWED,
        told_again(Question),
    ),
    "its reason": found(
        "is not what entry 2 has", changed(Question, answer="Yes."), told_again(Question)
    ),
    "a summary": found("is not what entry 1 has", changed(Condensation, summary="Yes."), RETOLD),
    "a number": found("where entry 1 has", changed(Condensation, tokens_before=7), RETOLD),
    "an undo that nobody made": unseen(
        "An entry that tells of what can happen", changed(Condensation, status="undone"), RETOLD
    ),
    "a record is gone": found("is gone", gone(Question)),
    "one is added": unseen("such as an approval, is not noticed", approval_added),
    # The database.
    "a conversation": sealed(
        "is not there any more.", lambda one: raw(Conversation).filter(pk=one.pk).delete()
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_found_or_the_guide_says_that_it_is_not(
    name: str, record: Conversation, tmp_path: Path
) -> None:
    """By the check, or by a seal from before; who has the key hides it from a newer one only.

    The page and the command say the same.
    """
    forgery, file, browser = FORGERIES[name], tmp_path / "seal.json", Client()
    browser.force_login(record.owner)
    owner = User.objects.filter(pk=record.owner_id)
    call_command("seal_audit", str(file), stdout=StringIO())

    def outgrown(seal: str) -> list[str]:
        heads = audit_seals.read_seal(seal, audit_seals.public_key())
        return [*filter(None, map(audit_seals.compare, heads))]

    for act in forgery.acts:
        act(record)
    found = [one for verdict in audit_check.verify_all() for one in verdict.problems]
    assert bool(found) == bool(forgery.check), found
    assert any(forgery.check in one for one in [*found, ""]), found
    lost = outgrown(file.read_text())
    assert bool(lost) == bool(forgery.seal) or found
    assert forgery.seal in "".join(lost)
    with pytest.raises(CommandError, match="tampered") if found or lost else nullcontext():
        call_command("verify_audit", against=file, stdout=StringIO(), stderr=StringIO())
    if Conversation.objects.filter(pk=record.pk).exists():
        owner.update(is_active=True)
        page = browser.get(reverse("audit", args=[record.pk])).text
        first = [*problems(record), ""][0]
        assert ("Record damaged" if first else "Record intact") in page
        assert escape(first) in page
    if not found:
        assert outgrown(audit_seals.make_seal()) == []
        assert outgrown(file.read_text()) == lost
    assert forgery.guide in GUIDE
