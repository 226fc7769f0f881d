"""Erasure of an account: each row and file of a user's, in pieces, and again after a restore.

A user's rows are found by their foreign keys, so a model that is new is erased as well. Audit
chains stay, without the openings of their digests. A list of erased users, by numbers and dates,
lies next to the backups: these still hold the account.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection, models, transaction
from django.db.models import F

from chatapp.conversations.files.checkpoints import Checkpoints
from chatapp.conversations.files.storage_use import folders_of
from chatapp.models import AuditEntry, Conversation, Deletion, ImportRun, audit, message_index
from chatapp.models.account_deletions import people
from chatapp.models.database import execute, is_shared, lock, now, piece
from chatapp.models.databases import tables
from chatapp.models.errors import BadArchive
from chatapp.project.sentences import translate as _

# Rows that are deleted in one transaction, and its seconds at most: some rows are large.
ROWS, SECONDS = 500, 0.1

LIST = "deleted-accounts.json"

# Columns that stay of a conversation with a chain, and of a user who owns some.
_OF_CHAIN = ("id", "owner", "last_seq", "audit_number", "audit_hash", "audit_seq", "created_at")
_OF_USER = ("id", "date_joined")


def erase(user: User, workspaces: Path) -> Iterator[None]:
    """Erase all rows and files of a user, with those below ``workspaces``; yield after each piece.

    Nothing runs in the user's name any more. An erasure that was interrupted is continued.
    """
    if not is_shared():
        # Otherwise deleted rows stand in the file until something is written over them.
        execute("PRAGMA secure_delete = ON")
    # With this row, a chain's entry on an erasure is believed.
    Deletion.objects.get_or_create(user=user, defaults={"due_at": now()})
    chats = Conversation.objects.filter(owner=user)
    folders, outputs = folders_of(user, workspaces)
    imports = [run.folder for run in ImportRun.objects.filter(owner=user)]
    for folder in [*Checkpoints.repositories_of(folders), *folders, *outputs, *imports]:
        _remove(folder)
        yield
    # First the entries: from now on the contents may be missing.
    for pk in [*chats.filter(audit_number__gt=0).values_list("pk", flat=True)]:
        _tell(pk)
    for rows in _rows_of(user):
        yield from _delete(rows)
    for pk in [*chats.values_list("pk", flat=True)]:
        with piece():
            AuditEntry.objects.filter(conversation=pk).update(openings={})
            emptied = _emptied(Conversation, _OF_CHAIN) | {"deleted_at": now()}
            Conversation.objects.filter(pk=pk).update(**emptied)
        yield
    yield from message_index.forget_deleted()
    _end(user)


def _end(user: User) -> None:
    """Delete a user's sessions, empty their row, and note the end of the deletion."""
    for session in Session.objects.iterator():
        if session.get_decoded().get(SESSION_KEY) == str(user.pk):
            session.delete()
    # No name of a person may have a colon.
    nobody = {"username": f"deleted:{user.pk}", "password": make_password(None), "is_active": False}
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(**_emptied(User, _OF_USER) | nobody)
        Deletion.objects.filter(user=user).update(done_at=now())


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        # A command may have taken away the right to change this folder.
        folder.chmod(0o700)
        for root, names, _files in folder.walk():
            for name in names:
                (root / name).chmod(0o700)
        shutil.rmtree(folder)


@transaction.atomic
def _tell(pk: Any) -> None:
    """Append one entry that names everything erased of a conversation."""
    lock(Conversation, pk)
    if not AuditEntry.objects.filter(conversation=pk, kind=AuditEntry.Kind.ERASURE).exists():
        Conversation.objects.filter(pk=pk).update(audit_seq=F("last_seq"))
        names = [*audit.names_in(Conversation(pk=pk))]
        audit.append(pk, AuditEntry.Kind.ERASURE, told={"erased": names})


def _rows_of(user: User) -> Iterator[models.QuerySet[Any]]:
    """Yield all rows that belong to a user and do not stay, before those that they name."""
    for table in reversed(tables()):
        for path in _paths_to_user(table.model):
            rows: models.QuerySet[Any] = models.QuerySet(table.model).filter(**{path: user.pk})
            if table.model is Conversation:
                yield rows.filter(audit_number=0)
            elif table.model not in {AuditEntry, Deletion}:
                yield rows


def _paths_to_user(model: Any) -> Iterator[str]:
    """Yield the foreign keys by which a row belongs to a user, as filters name them."""
    for one in model._meta.concrete_fields:  # noqa: SLF001 - Django's documented API
        if one.remote_field is None or one.remote_field.on_delete is models.SET_NULL:
            continue
        if one.related_model is User:
            yield one.name
        elif one.related_model is not model:
            yield from [f"{one.name}__{path}" for path in _paths_to_user(one.related_model)]


def _delete(rows: models.QuerySet[Any]) -> Iterator[None]:
    number = 10
    while keys := [*rows.values_list("pk", flat=True)[:number]]:
        began = time.monotonic()
        with piece():
            models.QuerySet(rows.model).filter(pk__in=keys).delete()
        is_slow = time.monotonic() - began > 2 * SECONDS
        number = max(1, number // 2) if is_slow else min(2 * number, ROWS)
        yield


def _emptied(model: type[models.Model], kept: tuple[str, ...]) -> dict[str, Any]:
    columns = model._meta.concrete_fields  # noqa: SLF001 - Django's documented API
    return {one.name: one.get_default() for one in columns if one.name not in kept}


class Erased(NamedTuple):
    """An erased user, by number and times: on another server the number may be another user's."""

    user: int
    joined: str
    deleted: str

    @classmethod
    def read(cls, folder: Path) -> set[Self]:
        """Return the list in a folder, which may have none; raise BadArchive."""
        path = folder / LIST
        try:
            return {cls(**one) for one in json.loads(path.read_bytes())} if path.exists() else set()
        except (ValueError, TypeError) as error:
            raise BadArchive(_("{path} can't be read: {error}.", path=path, error=error)) from error


def write_list(folder: Path, *others: Path) -> None:
    """Write the erased users into a folder's list, which keeps those of ``others`` and its own."""
    erased = set().union(*[Erased.read(one) for one in (folder, *others)])
    if Deletion._meta.db_table in connection.introspection.table_names():  # noqa: SLF001 - Django's documented API
        done = Deletion.objects.exclude(done_at=None)
        for pk, *times in done.values_list("pk", "user__date_joined", "done_at"):
            erased.add(Erased(pk, *[audit.moment(one) for one in times if one]))
    if erased != Erased.read(folder):
        draft = folder / f".{LIST}.{os.getpid()}"
        draft.write_text(json.dumps([one._asdict() for one in sorted(erased)], indent=1))
        draft.replace(folder / LIST)


def erase_again(workspaces: Path, *folders: Path) -> int:
    """Erase the users on the folders' lists that the database still has; return their number."""
    found = 0
    for one in set().union(*map(Erased.read, folders)):
        joined = datetime.fromisoformat(one.joined)
        for user in people().filter(pk=one.user, date_joined=joined):
            found += 1
            for _piece in erase(user, workspaces):
                pass
    return found
