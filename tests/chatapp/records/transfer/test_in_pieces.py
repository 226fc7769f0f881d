"""An import is stored in pieces: others write between them, and see none before the last."""

import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chatapp.models import AuditEntry, Conversation, Message, Source, errors, message_store
from chatapp.models.processes import this_process
from chatapp.records.maintenance.audit_check import verify
from chatapp.records.maintenance.audit_seals import make_seal
from chatapp.records.maintenance.integrity import find_problems
from chatapp.records.transfer import FORMAT, import_jobs, import_spool
from tests.chatapp.observers import ELSEWHERE
from tests.chatapp.records.transfer.lives import read
from tests.chatapp.written_files import database_in
from tests.sessions import session

# How many messages a piece has here.
ITEMS = 20
MESSAGES = 2 * ITEMS


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a file of few messages stored in pieces, too."""
    monkeypatch.setattr(import_spool, "ITEMS", ITEMS)


def record(**sections: Any) -> bytes:
    """Return a file of many messages, the last of which stands for all others."""
    said = [
        {"role": ("user", "assistant")[number % 2], "content": f"{number}", "tokens": 1,
         "condense_parent": "6a988a76-09fd-4ef5-81e9-33fb054d04b5"}
        for number in range(MESSAGES)
    ]  # fmt: skip
    summary = {"role": "user", "content": "All.", "tokens": 1,
               "condense_id": "6a988a76-09fd-4ef5-81e9-33fb054d04b5"}  # fmt: skip
    about = {"format": FORMAT, "conversation": {"title": "Long"}}
    return json.dumps({**about, "messages": [*said, summary], **sections}).encode()


class Onlooker:
    """Another connection, which tries to write before each statement of the first."""

    def __init__(self, path: Path) -> None:
        self.other = sqlite3.connect(path, timeout=0, autocommit=True)
        # How many messages there were each time, and how many conversations anybody sees.
        self.messages, self.shown = [0], {0}

    def __call__(self, execute: Callable[..., Any], *words: Any) -> Any:
        """Look, and have the statement run."""
        try:
            self.other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return execute(*words)
        self.look()
        self.other.execute("ROLLBACK")
        return execute(*words)

    def look(self) -> None:
        """Count what is there."""
        for counted, query in (
            (self.messages.append, "SELECT count(*) FROM chatapp_message"),
            (self.shown.add, "SELECT count(*) FROM chatapp_conversation WHERE deleted_at IS NULL"),
        ):
            counted(self.other.execute(query).fetchone()[0])


@pytest.fixture
def onlooker(small_pieces: None, alice: User, tmp_path: Path) -> Iterator[Onlooker]:
    """Somebody else who writes, beside whatever this test does."""
    with database_in(tmp_path), connection.execute_wrapper(watching := Onlooker(
        tmp_path / "copy.sqlite3"
    )), closing(watching.other):  # fmt: skip
        yield watching


@pytest.mark.sqlite("one lock for all that is written")
@pytest.mark.django_db(transaction=True)
def test_others_write_between_pieces_and_see_a_conversation_at_the_end(
    alice: User, tmp_path: Path, onlooker: Onlooker
) -> None:
    """However long the file is, the lock is held for one piece only."""
    made = read(record(), alice, tmp_path)
    onlooker.look()
    pieces = [after - before for before, after in itertools.pairwise(onlooker.messages)]
    assert sum(pieces) == MESSAGES + 1
    assert 0 < max(pieces) <= ITEMS
    assert onlooker.shown == {0, 1}
    assert onlooker.messages[-1] == made.messages.count()
    assert [one.text for one in message_store.read_effective(made.pk)] == ["All."]
    assert verify(made).problems == []
    assert [*find_problems()] == []


@pytest.mark.sqlite("one lock for all that is written")
@pytest.mark.django_db(transaction=True)
def test_what_is_refused_at_the_end_leaves_nothing(
    alice: User, tmp_path: Path, onlooker: Onlooker
) -> None:
    """Though much of it was stored already, and nobody has seen it."""
    with pytest.raises(errors.Refused, match="pins are not on the messages"):
        read(record(pins=[{"seq": 1, "message": 1, "digest": "0" * 64}]), alice, tmp_path)
    assert max(onlooker.messages) == MESSAGES + 1
    assert onlooker.shown == {0}
    for model in (Conversation, Message, Source, AuditEntry):
        assert not model.objects.exists()


def test_an_import_takes_as_many_statements_as_it_has_batches_and_records(
    alice: User, tmp_path: Path
) -> None:
    """Not one for each message."""
    with CaptureQueriesContext(connection) as found:
        read(session(100, 2), alice, tmp_path, "claude_code")
    assert len(found) < 100


@pytest.fixture
def half(small_pieces: None, alice: User, tmp_path: Path) -> Conversation:
    """What a process has left that was killed before the last piece."""
    made = read(record(), alice, tmp_path)
    Source.objects.update(importer=ELSEWHERE)
    Conversation.objects.update(deleted_at=timezone.now())
    return made


def test_what_a_killed_import_has_left_is_removed(
    alice: User, half: Conversation, tmp_path: Path
) -> None:
    """What was sent, and what was stored of it; what is being imported now stays."""
    there = read(record(), alice, tmp_path)
    Source.objects.filter(conversation=there).update(importer=this_process())
    (left := settings.DATA_DIR / "imports" / "left").mkdir(parents=True)
    (left / "talk.json").write_text("[]")
    run = import_jobs.begin_import(owner=alice)
    import_jobs.remove_left()
    assert Conversation.objects.get() == there
    assert Message.objects.count() == MESSAGES + 1
    assert [*left.parent.iterdir()] == [run.folder]
    import_jobs.drop(run)
    assert [*left.parent.iterdir()] == []


def test_a_part_of_a_conversation_is_sealed_by_nobody_and_named_by_the_check(
    half: Conversation,
) -> None:
    """It may yet be refused, and then no seal misses it."""
    assert json.loads(make_seal())["heads"] == {}
    assert any("its import broke off" in one for one in find_problems())
