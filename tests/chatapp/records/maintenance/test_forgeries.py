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
    """Acts one after another, and the sentence of the check, or else that of an older seal."""

    acts: tuple[Act, ...]
    check: str = ""
    seal: str = ""
    guide: str = ""


NO_FIT = "its hash does not fit"
CHANGED = "Message 1 is not what entry 1 has on record."
NO_DELETION = "tells of an erasure, and the account was not deleted."
UNREADABLE = "can't be read"
BY_SEAL_ONLY = "a seal only"
FORGERIES = {
    # Entries.
    "an entry's kind": Forgery((changed(AuditEntry, kind="seal"),), NO_FIT),
    "its payload": Forgery((changed(AuditEntry, payload="{}"),), NO_FIT),
    "its moment": Forgery((changed(AuditEntry, at=timezone.now()),), NO_FIT),
    "its predecessor": Forgery((changed(AuditEntry, previous="0" * 64),), "does not follow"),
    "its hash": Forgery((changed(AuditEntry, hash="0" * 64),), NO_FIT),
    "an entry is gone": Forgery((without(2),), "Entry 2 is missing."),
    "… and the next numbered anew": Forgery((without(2), renumbered), "does not follow"),
    "the newest": Forgery((without(3), without(4)), "cut off: Entries 3 to 4 are missing."),
    "… and the head": Forgery((cut_off,), "", "which was sealed, is missing.", BY_SEAL_ONLY),
    "all": Forgery(
        (lambda one: cut_off(one, 0),), "", "which was sealed, is missing.", BY_SEAL_ONLY
    ),
    "all, written anew": Forgery((written_anew,), "", "is not the one that", BY_SEAL_ONLY),
    "a head elsewhere": Forgery((changed(Conversation, audit_hash="0" * 64),), "as its newest"),
    "no whole number as a head": Forgery(
        (junk("conversation", "audit_number", "4.5"),), "cut off: Entry 5 is missing."
    ),
    "entries in another order": Forgery((reordered(AuditEntry, "number"),), "does not follow"),
    "chains swapped": Forgery((swapped(AuditEntry),), "does not follow"),
    "a number between": Forgery((junk("auditentry", "number", "number + 90"),), "are missing"),
    "salts that are none": Forgery((junk("auditentry", "openings", "'7'"),), UNREADABLE),
    "a kind nobody knows": Forgery((entered("pardon"),), UNREADABLE),
    **{
        f"a decision told as a {kind}": Forgery(
            (entered(kind, about="question 1", facts={}, texts=[]),), UNREADABLE
        )
        for kind in ("pin", "seal")
    },
    # Messages.
    "a message": Forgery((changed(Message, content=FALSE),), CHANGED),
    "… and an erasure": Forgery((changed(Message, content=FALSE), entered("erasure")), CHANGED),
    "… with names": Forgery((changed(Message, content=FALSE), erased), CHANGED),
    "… of nobody": Forgery((entered("erasure"),), NO_DELETION),
    "… without salts": Forgery(
        (changed(Message, content=FALSE), erased, emptied()), "Message 1 can't be compared"
    ),
    "… and a deletion": Forgery(
        (changed(Message, content=FALSE), erased, account_deleted, emptied()),
        "Message 1 is not what entry 5 has on record.",
    ),
    "… on record again": Forgery(
        (
            changed(Message, content=FALSE),
            entered("seal", {"message 1": audit.said("user", FALSE)}),
        ),
        CHANGED,
    ),
    "what nobody changed, on record again": Forgery(
        (entered("seal", {"message 1": audit.said("user", FALSE)}),),
        "Message 1 is not what entry 5 has on record.",
    ),
    "its role": Forgery((changed(Message, role="assistant"),), CHANGED),
    "it is gone": Forgery((gone(Message),), "is gone"),
    "… by an erasure": Forgery((erased, gone(Message)), "is gone"),
    "… that names others": Forgery(
        (
            entered("erasure", erased=["message 2"]),
            account_deleted,
            rows_gone,
        ),
        "Message 1, on record in entry 1, is gone.",
    ),
    "… with an account": Forgery(
        (erased, account_deleted, rows_gone, emptied()),
        guide="Whoever writes to the database can delete an account as this server does",
    ),
    "… of an account that goes on": Forgery(
        (
            erased,
            account_deleted,
            rows_gone,
            emptied(),
            lambda _: User.objects.update(is_active=True),
        ),
        NO_DELETION,
    ),
    "… that is to be deleted": Forgery(
        (erased, account_deleted, rows_gone, put_off),
        NO_DELETION,
    ),
    "… of one of them": Forgery(
        (entered("erasure", erased=["message 1"]), account_deleted, emptied(), message_gone),
        "Message 2 is not what entry 5 has on record.",
    ),
    "an erasure of what is there": Forgery(
        (erased, account_deleted), "Message 1 is not what entry 5 has on record."
    ),
    "a deletion taken back": Forgery(
        (erased, account_deleted, rows_gone, emptied(), lambda _: raw(Deletion).delete()),
        NO_DELETION,
    ),
    "emptied": Forgery((changed(Message, content=[]),), CHANGED),
    "… with its salt": Forgery(
        (changed(Message, content=[]), emptied("message 1")),
        guide="An emptied text whose salt is gone is not told from one that you have erased",
    ),
    "… and once more without one": Forgery(
        (changed(Message, content=[]), entered("seal", {"message 1": FALSE}), newest_emptied),
        CHANGED,
    ),
    "another salt": Forgery(
        (changed(AuditEntry, openings={"message 1": "00" * 16}),), "Message 1 is not what entry 1"
    ),
    "its salt": Forgery((emptied("message 1"),), "Message 1 can't be compared"),
    "words swapped": Forgery((reordered(Message, "seq"),), "Message 2 is not what"),
    "messages swapped": Forgery((swapped(Message),), "Message 2 is not what"),
    "a message added": Forgery((message_added(4),), guide="so they can be changed and added"),
    "… as if on record": Forgery(
        (message_added(4), changed(Conversation, audit_seq=4)), "Message 4 is on no entry."
    ),
    "as if not yet on record": Forgery((changed(Conversation, audit_seq=0),), "is gone"),
    "its place": Forgery((changed(Message, position=9),), guide="places in reading order"),
    "its tags": Forgery((changed(Message, undone=True),), guide="Tags"),
    # Records.
    "a decision": Forgery(
        (changed(Question, status="allowed"),),
        'has "allowed" as its status, where entry 2 has "denied".',
    ),
    "… told again": Forgery(
        (changed(Question, status="allowed"), told_again(Question)), 'where entry 2 has "denied"'
    ),
    "… as if not yet made": Forgery(
        (
            told_again(Question, status="pending"),
            changed(Question, status="allowed"),
            told_again(Question),
        ),
        'where entry 2 has "denied"',
    ),
    "its reason": Forgery(
        (changed(Question, answer="Yes."), told_again(Question)), "is not what entry 2 has"
    ),
    "a summary": Forgery(
        (changed(Condensation, summary="Yes."), told_again(Condensation)),
        "is not what entry 1 has",
    ),
    "a number": Forgery(
        (changed(Condensation, tokens_before=7), told_again(Condensation)), "where entry 1 has"
    ),
    "an undo that nobody made": Forgery(
        (changed(Condensation, status="undone"), told_again(Condensation)),
        guide="An entry that tells of what can happen",
    ),
    "a record is gone": Forgery((gone(Question),), "is gone"),
    "one is added": Forgery((approval_added,), guide="such as an approval, is not noticed"),
    # The database.
    "a conversation": Forgery(
        (lambda one: raw(Conversation).filter(pk=one.pk).delete(),), "", "is not there any more."
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
