"""Whoever changes the record is found, and where."""

import asyncio
import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

import condense
from chatapp.conversations import conversations, forks, pins, rewind
from chatapp.models import (
    AuditEntry,
    Conversation,
    audit,
)
from chatapp.models.audit import Recorded, RecordedQuerySet
from chatapp.models.errors import BadSeal
from chatapp.operations import background_jobs
from chatapp.records.maintenance import audit_check, audit_seals
from chatapp.records.maintenance.integrity import find_problems
from tests.chatapp.audited import entries, live_through, problems, raw, taken_back, talk
from tests.chatapp.condensing.findings import finding


@pytest.fixture
def record(conversation: Conversation) -> Conversation:
    """A conversation in which everything has happened."""
    live_through(conversation)
    return conversation


# Columns of records that no entry tells of: keys, the turn, what a rewind took along (its tag), and
# what the server goes on with.
UNTOLD = {
    "Condensation": {"id", "conversation", "turn", "owner", "rewind_parent", "scope"},
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


def test_what_is_written_while_somebody_looks_is_no_problem(record: Conversation) -> None:
    """A chain that grew between two looks at it holds, and so does one that was read before."""
    written = []

    def write(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if "auditentry" in sql and not written:
            written.append(sql)
            rewind.rewind_conversation(conversation=record, first_hidden_seq=3)
        return execute(sql, *rest)

    with connection.execute_wrapper(write):
        verdict = audit_check.verify(record)
    assert (verdict.problems, verdict.entries) == ([], 13)


def verify(*words: str, **options: Any) -> str:
    """Run the command and return what it says."""
    said = StringIO()
    call_command("verify_audit", *words, stdout=said, stderr=said, **options)
    return said.getvalue()


def test_a_conversation_that_is_gone_when_its_turn_comes_is_no_problem(
    record: Conversation,
) -> None:
    """It may have been erased since the list of all was read."""
    gone = Conversation.objects.create(owner=record.owner)
    raw(Conversation).filter(pk=gone.pk).delete()
    assert audit_check.verify(gone).holds


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


def test_the_command_says_that_all_chains_hold_or_where_one_breaks(record: Conversation) -> None:
    """All of them, or one; where one breaks, it and the check of everything fail, and say where."""
    conversations.start_conversation(owner=record.owner)
    assert verify() == (
        "2 chains with 12 entries hold. 0 contents were erased; 0 messages wait for the next "
        "entry.\n"
    )
    talk(record, "One more.")
    assert "1 chains with 12 entries hold." in verify(str(record.pk))
    assert "1 messages wait" in verify(str(record.pk))
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
    assert f"Since {file} was made, 1 chain only grew." in verify(against=file)
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


@pytest.mark.django_db(transaction=True)
def test_a_seal_is_a_background_job_too(record: Conversation) -> None:
    """Its file lies where that of the command does."""
    talk(record, "One more.")
    background_jobs.enqueue("seal_audit")
    asyncio.run(background_jobs.close())
    (file,) = (Path(audit_seals.settings.DATA_DIR) / "seals").iterdir()
    (head,) = audit_seals.read_seal(file.read_text(), audit_seals.public_key())
    assert head.number == len(entries(record))


def test_a_machine_among_several_makes_no_key_of_its_own(
    record: Conversation, settings: Settings, tmp_path: Path
) -> None:
    """It says what to set; and without others there is no worker to write one."""
    with pytest.raises(CommandError, match="There are no workers"):
        call_command("seal_audit", "--by-worker")
    settings.CLUSTER, settings.SEAL_KEY = True, ""
    with pytest.raises(CommandError, match="SEAL_KEY is not set"):
        call_command("seal_audit", str(tmp_path / "seal.json"))
    assert not audit_seals.has_key()
    assert not (tmp_path / "seal.json").exists()


def test_servers_with_the_same_key_seal_alike(
    record: Conversation, settings: Settings, tmp_path: Path
) -> None:
    """Where SEAL_KEY gives it, none is made, and each reads what another has sealed."""
    settings.SEAL_KEY = "given"
    seal, key = audit_seals.make_seal(), audit_seals.public_key()
    assert not (Path(settings.DATA_DIR) / audit_seals.SEAL_KEY).exists()
    settings.DATA_DIR = tmp_path / "another machine"
    assert audit_seals.has_key()
    assert audit_seals.read_seal(seal, audit_seals.public_key())
    settings.SEAL_KEY = "another"
    assert audit_seals.public_key() != key


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
