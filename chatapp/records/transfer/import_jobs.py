"""Imports: background jobs, each in its owner's name, that report their progress."""

import asyncio
import logging
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Event

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, connections, transaction
from django.utils import translation

from chatapp.agent.async_tasks import finish
from chatapp.conversations.embedding.vectors import enqueue_due
from chatapp.models import ImportRun, Source, errors
from chatapp.models.database import STOP, Stopped, go_on, now
from chatapp.operations.background_jobs import enqueue
from chatapp.project.sentences import translate as _
from chatapp.records.transfer import Piece, record_import
from chatapp.records.transfer.record_import import PROBLEMS_KEPT, ImportResult, load_conversations
from chatapp.records.transfer.transcript_files import digest_of
from condense import noop, panics_as_errors

log = logging.getLogger(__name__)

# Seconds between two signs of life, which say how far an import is.
PROGRESS = 1.0
# The time for which the result of an import is kept for its user.
REMEMBERED = timedelta(days=7)
# Reasons that are kept besides the first for conversations that can't be imported.
FEW = 3

IMPORT_INTERRUPTED = noop("The import was interrupted: the server was stopped meanwhile.")

# One at a time: a large file takes as much as a machine has.
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="import")

# Reads a path of a format.
Read = Callable[[str, Path], Iterable[Piece]]


def begin_import(*, owner: User) -> ImportRun:
    """Return a new import with an empty folder for its files.

    Refused while another one of this user is not over.
    """
    close_left(owner)
    with errors.saving():
        try:
            with transaction.atomic():
                run = ImportRun.objects.begin(owner, translation.get_language() or "")
        except IntegrityError as error:
            raise errors.Refused(_("Another import is still running.")) from error
    run.folder.mkdir(parents=True)
    return run


def start_import(run: ImportRun, *, form: str, name: str) -> None:
    """Start a background job that imports the files of an import's folder."""
    run.form, run.name, run.digest = form, name, digest_of(run.path)
    if settings.CLUSTER:
        run.worker = ""
    with errors.saving(), transaction.atomic():
        if not run.start():
            raise errors.Refused(IMPORT_INTERRUPTED)
        enqueue("import_files", run=str(run.pk))


def drop(run: ImportRun) -> None:
    """Forget an import that did not start, with its files."""
    shutil.rmtree(run.folder, ignore_errors=True)
    run.delete()


def find_import(pk: uuid.UUID, owner: User) -> ImportRun | None:
    """Return a user's import as it stands, None if it is unknown by now."""
    close_left(owner)
    return ImportRun.objects.filter(pk=pk, owner=owner).first()


def find_running(owner: User) -> ImportRun | None:
    """Return the user's unfinished import, None if there is none."""
    close_left(owner)
    return ImportRun.objects.unfinished().filter(owner=owner).exclude(form="").first()


def close_left(*owners: User) -> None:
    """End imports, of these owners or all, that no process works on any more."""
    runs = ImportRun.objects.unfinished()
    for run in runs.filter(owner__in=owners) if owners else runs:
        if run.is_left:
            run.finish(IMPORT_INTERRUPTED)


def start_clearing() -> None:
    """Start removing the remains of ended imports, and embedding messages that are due."""

    def clear() -> None:
        try:
            remove_left()
            enqueue_due()
        except (DatabaseError, OSError) as error:
            log.warning("what ended imports left could not be removed yet: %s", error)
        finally:
            connections.close_all()

    _THREAD.submit(clear)


def remove_left() -> None:
    """Remove the remains of finished imports: files, and parts of conversations."""
    # An import has its row before it has its folder.
    folders = [*(Path(settings.DATA_DIR) / "imports").glob("*")]
    close_left()
    ImportRun.objects.filter(finished_at__lt=now() - REMEMBERED).delete()
    there = {pk.hex for pk in ImportRun.objects.unfinished().values_list("pk", flat=True)}
    for folder in folders:
        if folder.name not in there:
            shutil.rmtree(folder, ignore_errors=True)
    record_import.remove_parts()


async def run_import(pk: str, read: Read) -> None:
    """Import the pieces that ``read`` yields from the files, unless the import is over."""
    if run := await _insist(partial(ImportRun.objects.claim, uuid.UUID(pk))):
        await _Attempt(run, read).live()


class _Attempt:
    """One process' work on an import: a thread reads and stores, the event loop reports progress.

    Conversations that an earlier attempt has imported stay as they are.
    """

    def __init__(self, run: ImportRun, read: Read) -> None:
        self._run = run
        self._read = read
        self._stop = Event()

    async def live(self) -> None:
        """Work to the end, or until this process stops or another one has taken over."""
        run = self._run
        work = asyncio.ensure_future(
            sync_to_async(self._work, thread_sensitive=False, executor=_THREAD)()
        )
        try:
            while not (await asyncio.wait({work}, timeout=PROGRESS))[0]:
                if not await _insist(run.keep_alive):
                    self._stop.set()
            if not self._stop.is_set() and await _insist(partial(run.finish, work.result())):
                await asyncio.to_thread(shutil.rmtree, run.folder, ignore_errors=True)
        finally:
            self._stop.set()
            await finish(work)

    def _work(self) -> str:
        """Import all files; return the reason of an early end, or of an import of nothing.

        Its own names and titles are in the owner's language.
        """
        STOP.set(self._stop)
        with translation.override(self._run.language or None):
            try:
                with panics_as_errors():
                    return self._import()
            except errors.Refused as error:
                return str(error)
            except Stopped:
                return ""
            except Exception:
                log.exception("an import failed")
                return noop("The import failed.")
            finally:
                connections.close_all()

    def _import(self) -> str:
        run = self._run
        remove_left()
        record_import.remove_parts(run)
        if not run.folder.is_dir():
            raise errors.Refused(noop("The server can't find the file any more. Import it again."))
        source = Source(form=run.form, name=run.name, digest=run.digest, run=run)
        with errors.saving():
            pieces = self._counted(self._read(run.form, run.path))
            for one in load_conversations(pieces, owner=run.owner, source=source):
                if one.refusal:
                    self._leave_out(one)
        enqueue_due()
        if run.imported:
            return ""
        nothing = noop("The file holds nothing that can be used.")
        return run.left_out[0]["refusal"] if run.unused == 1 else nothing

    def _leave_out(self, one: ImportResult) -> None:
        """Note the reason of a refused conversation: in full for the first one."""
        run, source = self._run, one.source
        if run.unused < PROBLEMS_KEPT:
            told = source.problems[: FEW if run.unused else None]
            run.left_out.append(
                {
                    "title": one.title or source.name,
                    "refusal": one.refusal,
                    "problems": told,
                    "left_out": source.unused - len(told),
                }
            )
        run.unused += 1

    def _counted(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces, and count the messages among them."""
        for piece in pieces:
            go_on()
            self._run.messages += isinstance(piece, dict)
            yield piece


async def _insist[T](call: Callable[[], T]) -> T:
    """Repeat a call until the database can be written, so that no row is left unfinished."""
    while True:
        try:
            return await sync_to_async(call)()
        except DatabaseError as error:
            if not errors.is_unwritable(error):
                raise
            log.warning("how far an import is could not be stored yet: %s", error)
        await asyncio.sleep(PROGRESS)
