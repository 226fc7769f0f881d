"""Whoever changes the record is found, and where: five kinds of tampering, 40 times each."""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

import condense
from chatapp.conversations import conversations, forks, pins, rewind
from chatapp.errors import BadSeal
from chatapp.maintenance import audit_check, audit_seals
from chatapp.maintenance.integrity import find_problems
from chatapp.models import (
    AuditEntry,
    Condensation,
    Conversation,
    Message,
    Question,
    Review,
    Rewind,
    audit,
)
from chatapp.models.audit import Recorded, RecordedQuerySet
from tests.chatapp.audited import entries, live_through, problems, raw, talk
from tests.chatapp.condensation.test_receipts import finding

INSTANCES = 40
Tamper = Callable[[Conversation, Random], None]


@pytest.fixture
def record(conversation: Conversation) -> Conversation:
    """A conversation in which everything has happened."""
    live_through(conversation)
    return conversation


@contextmanager
def taken_back() -> Iterator[None]:
    """Have all that is done in the block undone at its end."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def all_found(conversation: Conversation, tamper: Tamper, sealed: str = "") -> None:
    """Tamper in many ways, and see that each is found: by itself, or against a seal."""
    heads = audit_seals.read_seal(sealed, audit_seals.public_key()) if sealed else []
    for seed in range(INSTANCES):
        with taken_back():
            tamper(conversation, Random(seed))  # noqa: S311 - only to vary
            found = [*map(audit_seals.compare, heads)] if sealed else problems(conversation)
            assert any(found), f"with seed {seed}"
            assert all(one.endswith(".") for one in found)


def other(value: Any, random: Random) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + random.choice((-1, 1, 7)) if value else value + 1
        case str() if value:
            place = random.randrange(len(value))
            return value[:place] + random.choice("xyz@") + value[place + 1 :] + "!"
        case dict():
            return {**value, "x": 1}
        case list():
            return [*value, "x"]
    return "x"


def records(conversation: Conversation) -> list[Any]:
    """Return all rows that the chain tells of."""
    models = (Condensation, Rewind, Question, Review)
    return [row for model in models for row in RecordedQuerySet(model).told_in(conversation)]


def edit(conversation: Conversation, random: Random) -> None:
    """Change one column of one row of what is on record."""
    random.choice((_edit_entry, _edit_entry, _edit_message, _edit_record))(conversation, random)


def _edit_entry(conversation: Conversation, random: Random) -> None:
    entry = random.choice(entries(conversation))
    name = random.choice(("kind", "payload", "previous", "hash", "at", "openings"))
    value = getattr(entry, name)
    if name == "at":
        value = value.replace(microsecond=(value.microsecond + 1) % 1_000_000)
    elif name == "openings":
        # What opens what an older entry said of a record is not needed any more.
        entry = entries(conversation)[0]
        value = {**entry.openings, f"message {random.randint(1, 5)}": "00" * 16}
    else:
        value = other(value, random)
        value = value if name == "payload" else value[-20:]
    raw(AuditEntry).filter(pk=entry.pk).update(**{name: value})


def _edit_message(conversation: Conversation, random: Random) -> None:
    on_record = Conversation.objects.get(pk=conversation.pk).audit_seq
    row = Message.objects.get(conversation=conversation, seq=random.randint(1, on_record))
    text = other(row.content[0]["text"], random)
    content = random.choice(([{"type": "text", "text": text}], [*row.content, *row.content], []))
    raw(Message).filter(pk=row.pk).update(content=content)


def _edit_record(conversation: Conversation, random: Random) -> None:
    row = random.choice(records(conversation))
    strings = [
        name for name in (*row.FACTS, *row.CONTENTS) if isinstance(getattr(row, name), str | int)
    ]
    name = random.choice([one for one in strings if one not in {"message_id", "place"}])
    size = row._meta.get_field(name).max_length
    value = other(getattr(row, name), random)
    raw(type(row)).filter(pk=row.pk).update(**{name: value[:size] if size else value})


def delete(conversation: Conversation, random: Random) -> None:
    """Take out an entry, a few of them, or what an entry tells of; a clever one numbers anew."""
    found = entries(conversation)
    if random.random() < 0.3:
        seq = random.randint(1, Conversation.objects.get(pk=conversation.pk).audit_seq)
        model = random.choice((Message, Condensation, Rewind, Question, Review))
        rows = raw(model)
        if model is Message:
            rows = rows.filter(conversation=conversation, seq=seq)
        rows.filter(pk=random.choice([*rows.values_list("pk", flat=True)])).delete()
        return
    first = random.randrange(len(found) - 1)
    gone = found[first : min(first + random.randint(1, 3), len(found) - 1)]
    raw(AuditEntry).filter(pk__in=[one.pk for one in gone]).delete()
    if random.random() < 0.5:
        for one in found[first + len(gone) :]:
            raw(AuditEntry).filter(pk=one.pk).update(number=one.number - len(gone))


def reorder(conversation: Conversation, random: Random) -> None:
    """Have two entries, or two messages, change places; a clever one mends what stands before."""
    if random.random() < 0.2:
        seqs = random.sample(range(1, 5), 2)
        one, two = (Message.objects.get(conversation=conversation, seq=seq) for seq in seqs)
        raw(Message).filter(pk=one.pk).update(content=two.content, role=two.role)
        raw(Message).filter(pk=two.pk).update(content=one.content, role=one.role)
        return
    one, two = random.sample(entries(conversation), 2)
    swapped = ["number", *(("previous",) if random.random() < 0.5 else ())]
    values = {name: getattr(one, name) for name in swapped}
    raw(AuditEntry).filter(pk=one.pk).update(number=1_000)
    raw(AuditEntry).filter(pk=two.pk).update(**values)
    values = {name: getattr(two, name) for name in swapped}
    raw(AuditEntry).filter(pk=one.pk).update(**values)


def cut(conversation: Conversation, random: Random) -> None:
    """Take away the newest entries."""
    found = entries(conversation)
    kept = random.randrange(len(found))
    raw(AuditEntry).filter(pk__in=[one.pk for one in found[kept:]]).delete()


def cut_cleverly(conversation: Conversation, random: Random) -> None:
    """Take away the newest entries, and have the conversation know of no more than are left."""
    cut(conversation, random)
    left = entries(conversation)
    raw(Conversation).filter(pk=conversation.pk).update(
        audit_number=len(left),
        audit_hash=left[-1].hash if left else "",
        audit_seq=max([0, *(seq for one in left for seq in _seqs(one))]),
    )


def _seqs(entry: AuditEntry) -> list[int]:
    names = json.loads(entry.payload)["digests"]
    return [int(name.split()[1]) for name in names if name.startswith("message ")]


def _fit(conversation: Conversation) -> None:
    """Write the chain anew from what the tables say now, as somebody would who knows it all."""
    rows = {row.audited_as: row for row in records(conversation)}
    said = {one.seq: one for one in Message.objects.filter(conversation=conversation)}
    head = audit.beginning(str(conversation.pk))
    for entry in entries(conversation):
        payload = json.loads(entry.payload)
        for name, salt in entry.openings.items():
            if name in rows:
                payload["digests"][name] = audit.commit(salt, rows[name].contents())
            else:
                message = said[int(name.split()[1])]
                content = audit.said(message.role, message.content)
                payload["digests"][name] = audit.commit(salt, content)
        if payload.get("about"):
            payload["facts"] = rows[payload["about"]].facts()
        entry.payload, entry.previous = audit.written(payload), head
        head = entry.expected_hash
        raw(AuditEntry).filter(pk=entry.pk).update(
            payload=entry.payload, previous=entry.previous, hash=head
        )
    raw(Conversation).filter(pk=conversation.pk).update(audit_hash=head)


def rewrite(conversation: Conversation, random: Random) -> None:
    """Change what was said or recorded, and write the whole chain anew so that it fits."""
    random.choice((_edit_message, _edit_record))(conversation, random)
    _fit(conversation)


@pytest.mark.parametrize("tamper", [edit, delete, reorder, cut])
def test_every_tampering_is_found(record: Conversation, tamper: Tamper) -> None:
    """Of an entry, of a message or of a record; the conversation knows how many entries it has."""
    all_found(record, tamper)


# Columns of records that no entry tells of: keys, the turn, what a rewind took along (its tag), and
# what the server goes on with.
UNTOLD = {
    "Condensation": {"id", "conversation", "turn", "rewind_parent", "scope"},
    "Fork": {"id", "conversation"},
    "Pin": {"id", "conversation", "message"},
    "Question": {"id", "turn"},
    "Review": {"id", "proposal", "typed"},
    "Rewind": {"id", "conversation", "rewind_parent"},
}


CHANGED: dict[type, Any] = {
    condense.Receipt: condense.Receipt((finding("port 8123", "kept"),)),
    dict: {"x": 1},
    list: ["x"],
    str: "x",
    bool: True,
}


def another(column: Any, value: Any) -> Any:
    """Return a value that a column can hold, and does not."""
    if isinstance(value, condense.Receipt | dict | list | str | bool):
        return False if value is True else CHANGED[type(value)]
    if column.get_internal_type() == "DateTimeField":
        return (value or timezone.now()) + timedelta(seconds=1)
    if column.get_internal_type() == "UUIDField":
        return uuid.uuid4()
    return 10**6 if column.is_relation else (value or 0) + 1


def test_no_column_of_any_kind_of_record_is_changed_unnoticed(record: Conversation) -> None:
    """Those that no entry tells of are left out for a reason."""
    pins.pin_rule(conversation=record, text="Never guess.")
    forks.fork_conversation(conversation=record, seq=2)
    assert problems(record) == []
    for model in Recorded.__subclasses__():
        row = RecordedQuerySet(model).told_in(record).order_by("pk").last()
        assert row is not None
        for column in model._meta.concrete_fields:
            if column.name in UNTOLD[model.__name__]:
                continue
            value = another(column, getattr(row, column.attname))
            with taken_back():
                raw(model).filter(pk=row.pk).update(**{column.attname: value})
                assert problems(record), f"{model.__name__}.{column.name}"


def test_a_cut_that_the_conversation_does_not_know_of_is_found_with_a_seal(
    record: Conversation,
) -> None:
    """Without one a chain that is left fits itself."""
    audit_seals.make_seal()
    talk(record, "Forget this.")
    seal = audit_seals.make_seal()
    with taken_back():
        raw(Conversation).update(audit_number=12, audit_hash=entries(record)[11].hash, audit_seq=12)
        raw(AuditEntry).filter(number=13).delete()
        assert problems(record) == []
    all_found(record, cut_cleverly, seal)


def test_every_chain_that_was_written_anew_is_found_with_a_seal(record: Conversation) -> None:
    """Without one it fits itself."""
    seal = audit_seals.make_seal()
    with taken_back():
        rewrite(record, Random(1))  # noqa: S311 - only to vary
        assert problems(record) == []
    all_found(record, rewrite, seal)


def test_a_sentence_says_where_a_chain_breaks(record: Conversation) -> None:
    """By the number of the entry, and what it tells of."""
    asked, attempt = Question.objects.get(place=1), Condensation.objects.get(status="undone")
    entry, condensed = raw(AuditEntry), raw(Condensation).filter(pk=attempt.pk)
    cases: list[tuple[Callable[[], object], str]] = [
        (
            lambda: entry.filter(number=5).update(kind="seal"),
            "Entry 5 is not what was written: its hash does not fit.",
        ),
        (lambda: entry.filter(number__in=(5, 6)).delete(), "Entries 5 to 6 are missing."),
        (
            lambda: entry.filter(number__gt=9).delete(),
            "The end of the chain is cut off: Entries 10 to 12 are missing.",
        ),
        (
            lambda: raw(Message).filter(seq=3).update(content=[]),
            "Message 3 is not what entry 1 has on record.",
        ),
        (
            lambda: raw(Question).filter(pk=asked.pk).update(status="allowed"),
            f'Question {asked.pk} has "allowed" as its status, where entry 8 has "denied".',
        ),
        (
            lambda: condensed.update(summary="Nothing was said."),
            f"What condensation {attempt.pk} says is not what entry 3 has on record.",
        ),
    ]
    for tamper, sentence in cases:
        with taken_back():
            tamper()
            assert problems(record) == [sentence]


def test_what_is_written_while_somebody_looks_is_no_problem(record: Conversation) -> None:
    """A chain that grew between two looks at it holds, and so does one that was read before."""
    written = []

    def write(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if "auditentry" in sql and not written:
            written.append(sql)
            rewind.rewind_conversation(conversation=record, to_seq=3)
        return execute(sql, *rest)

    with connection.execute_wrapper(write):
        verdict = audit_check.verify(record)
    assert (verdict.problems, verdict.entries) == ([], 13)


def verify(*words: str, **options: Any) -> str:
    """Run the command and return what it says."""
    said = StringIO()
    call_command("verify_audit", *words, stdout=said, stderr=said, **options)
    return said.getvalue()


def test_what_an_older_version_told_and_nobody_stores_any_more_is_no_problem(
    record: Conversation,
) -> None:
    """A fact or a text that a record had then; what it has still is compared."""
    attempt = record.condensations.latest("started_at")
    texts = attempt.contents()
    told = {
        "about": attempt.audited_as,
        "facts": {**attempt.facts(), "mood": "calm"},
        "texts": [*texts, "tune"],
    }
    kind = AuditEntry.Kind.CONDENSATION
    audit.append(record.pk, kind, told=told, contents={attempt.audited_as: texts})
    assert problems(record) == []
    with taken_back():
        audit.append(record.pk, kind, told={**told, "facts": {"status": "failed"}})
        assert len(problems(record)) == 1


def test_the_command_says_that_all_chains_hold(record: Conversation) -> None:
    """All of them, or one."""
    conversations.start_conversation(owner=record.owner)
    assert verify() == (
        "2 chains with 12 entries hold. 0 contents were erased; 0 messages wait for the next "
        "entry.\n"
    )
    talk(record, "One more.")
    assert "1 chains with 12 entries hold." in verify(str(record.pk))
    assert "1 messages wait" in verify(str(record.pk))


def test_the_command_and_the_check_of_everything_fail_where_a_chain_breaks(
    record: Conversation,
) -> None:
    """With the conversation and the sentence."""
    with taken_back():
        raw(AuditEntry).filter(number=2).delete()
        with pytest.raises(CommandError, match="tampered with, or is damaged"):
            verify()
        assert f"Conversation {record.pk}: Entry 2 is missing." in find_problems()


def test_since_a_seal_chains_only_grow(record: Conversation, tmp_path: Path) -> None:
    """What is added fits; a conversation that is gone does not."""
    file = tmp_path / "seal.json"
    call_command("seal_audit", str(file))
    live_through(record)
    conversations.start_conversation(owner=record.owner)
    assert f"Since {file} was made, 1 chains only grew." in verify(against=file)
    with pytest.raises(CommandError, match="is there already"):
        call_command("seal_audit", str(file))
    with taken_back():
        Conversation.objects.filter(pk=record.pk).delete()
        said = audit_seals.compare(
            audit_seals.read_seal(file.read_text(), audit_seals.public_key())[0]
        )
        assert said.endswith("was sealed with 12 entries, and is not there any more.")
        with pytest.raises(CommandError):
            verify(against=file)
        with pytest.raises(CommandError):
            verify(str(record.pk), against=file)


def test_a_seal_commits_to_what_was_said_since_the_last_entry(record: Conversation) -> None:
    """So that a conversation in which nothing else happened is sealed, too."""
    talk(record, "One more.")
    audit_seals.make_seal()
    file = Path(audit_seals.settings.DATA_DIR) / audit_seals.SEAL_KEY
    assert file.stat().st_mode & 0o777 == 0o600
    *_before, entry = entries(record)
    assert (entry.kind, len(json.loads(entry.payload)["digests"])) == ("seal", 1)
    audit_seals.make_seal()
    assert len(entries(record)) == entry.number


def test_a_seal_that_was_changed_is_refused(record: Conversation) -> None:
    """Or that another key has signed, or that is none at all."""
    text, key = audit_seals.make_seal(), audit_seals.public_key()
    assert [head.number for head in audit_seals.read_seal(text, key)] == [12]
    for wrong in (text.replace(": 12", ": 10"), text.replace("seal 1", "seal 2"), "{}", "x", "[]"):
        with pytest.raises(BadSeal):
            audit_seals.read_seal(wrong, key)
    (Path(audit_seals.settings.DATA_DIR) / audit_seals.SEAL_KEY).unlink()
    with pytest.raises(BadSeal, match="another key"):
        audit_seals.read_seal(text, audit_seals.public_key())
    with pytest.raises(BadSeal):
        audit_seals.read_seal(text, "no key")
    assert len(audit_seals.read_seal(text, key)) == 1


def test_where_nothing_was_sealed_a_key_is_asked_for(record: Conversation, tmp_path: Path) -> None:
    """Instead of making one that fits nothing; the key on paper does as well."""
    file = tmp_path / "seal.json"
    file.write_text(audit_seals.make_seal())
    key = audit_seals.public_key()
    (Path(audit_seals.settings.DATA_DIR) / audit_seals.SEAL_KEY).unlink()
    with pytest.raises(CommandError, match="--public-key"):
        verify(against=file)
    assert not audit_seals.has_key()
    assert "only grew" in verify(against=file, public_key=key)
    with pytest.raises(CommandError, match="can't be used"):
        verify(against=tmp_path / "none", public_key=key)
