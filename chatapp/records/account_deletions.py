"""Deletions of due accounts: their turns end, and all of their data is erased."""

import asyncio
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connections

from chatapp.accounts import users
from chatapp.models import BackgroundDraft, Deletion, ImportRun, ModelCall, Source, Turn
from chatapp.models.database import now, recovering
from chatapp.operations.background_jobs import enqueue
from chatapp.records.maintenance import backups, erasure
from chatapp.turns import actions

log = logging.getLogger(__name__)

# Seconds between two looks for accounts that are due.
AGAIN = 600.0
# Seconds between two tries to have that done.
RETRY_PAUSE = 10.0
# The time for which runs that are on record as unfinished are waited for.
LONGEST_RUN = timedelta(days=1)


def look_for_due(after: float = 0.0) -> None:
    """Enqueue the deletion of due accounts, here or in a worker."""
    enqueue("delete_accounts", after=after, key="all")


async def try_to_look_for_due(after: float = 0.0) -> None:
    """Call ``look_for_due`` as soon as the database can be written."""
    while True:
        try:
            await recovering(look_for_due)(after)
        except DatabaseError as error:
            log.warning("accounts that are due can't be looked for yet: %s", error)
        else:
            return
        await asyncio.sleep(RETRY_PAUSE)


async def delete_accounts() -> None:
    """Delete the accounts that are due, as a background job that comes again."""
    stop = threading.Event()

    def work() -> None:
        try:
            delete_due(stop.is_set)
        finally:
            connections.close_all()

    try:
        # In a thread of its own: writes of this process wait for each other in theirs.
        await asyncio.to_thread(work)
    except Exception:
        log.exception("accounts that are due could not be looked for")
    finally:
        stop.set()
    await try_to_look_for_due(AGAIN)


def delete_due(is_stopped: Callable[[], bool] = lambda: False) -> None:
    """Delete the accounts that are due and for which nothing runs any more, in pieces.

    If the process ends before it is done, the next one continues.
    """
    due = Deletion.objects.filter(done_at=None, due_at__lte=now())
    for one in due.select_related("user"):
        try:
            _close(one.user)
            if _is_at_rest(one.user) or one.due_at < now() - LONGEST_RUN:
                for _piece in erasure.erase(one.user, Path(settings.WORKSPACES_ROOT)):
                    if is_stopped():
                        return
        except Exception:
            log.exception("account %s could not be deleted yet", one.pk)
    if Deletion.objects.exclude(done_at=None).exists():
        erasure.write_list(backups.own_folder("backups"))


def _close(user: User) -> None:
    """Deactivate a user's account, and end their sessions, drafts, imports and turns."""
    user.is_active = False
    user.save(update_fields=["is_active"])
    users.end_sessions(user)
    BackgroundDraft.objects.filter(conversation__owner=user).delete()
    ImportRun.objects.unfinished().filter(owner=user).update(finished_at=now())
    actions.stop_all(user.pk)


def _is_at_rest(user: User) -> bool:
    chats = {"conversation__owner": user}
    running = (
        Turn.objects.unfinished().filter(**chats),
        ModelCall.objects.filter(**chats, status=ModelCall.Status.RUNNING),
        Source.objects.filter(**chats).exclude(importer=""),
    )
    return not any(rows.exists() for rows in running)
