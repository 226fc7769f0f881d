"""Imports: they run beside everything else, each in its owner's name, and say how far they are."""

import logging
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connections
from django.utils import translation
from django.utils.translation import gettext as _

from chatapp import errors
from chatapp.models import Source
from chatapp.transfer import Piece, record_import
from chatapp.transfer.record_import import PROBLEMS_KEPT, Outcome, load_conversations

log = logging.getLogger(__name__)

# Of those that are over, so many are remembered: for whoever still looks.
REMEMBERED = 50

Read = Callable[[Path], Iterable[Piece]]


@dataclass(slots=True)
class Job:
    """One import: ``messages`` are read so far, and these conversations are ``imported``.

    What became of those that can't be is kept of the first, and ``unused`` counts them. A
    ``refusal`` says why it ended early, or why nothing was imported.
    """

    owner: User
    source: Source
    messages: int = 0
    imported: list[uuid.UUID] = field(default_factory=list)
    left_out: list[Outcome] = field(default_factory=list)
    unused: int = 0
    refusal: str = ""
    is_over: bool = False
    pk: uuid.UUID = field(default_factory=uuid.uuid4)


_JOBS: dict[uuid.UUID, Job] = {}
# Where this process keeps what was sent.
_FOLDERS: set[Path] = set()
_LOCK = threading.Lock()
# One at a time: a large file takes as much as a machine has.
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="import")


def start_import(*, owner: User, path: Path, source: Source, read: Read) -> Job:
    """Begin to import what ``read`` makes of the path, which is removed then, with its folder.

    Refused while another import of this user runs.
    """
    job = Job(owner, source)
    with _LOCK:
        if find_running(owner):
            raise errors.Refused(_("Another file of yours is being imported. Wait for its end."))
        for pk in [one.pk for one in _JOBS.values() if one.is_over][:-REMEMBERED]:
            del _JOBS[pk]
        _JOBS[job.pk] = job
        _THREAD.submit(_run, job, path, read, translation.get_language())
    return job


def find_import(pk: uuid.UUID, owner: User) -> Job | None:
    """Return a user's import, None where the server knows of none: nothing of it was stored."""
    job = _JOBS.get(pk)
    return job if job and job.owner == owner else None


def find_running(owner: User) -> Job | None:
    """Return the import of a user that is not over yet, None where there is none."""
    running = (one for one in [*_JOBS.values()] if one.owner == owner and not one.is_over)
    return next(running, None)


def make_folder() -> Path:
    """Return a new folder for what is sent."""
    folder = Path(settings.DATA_DIR) / "imports" / uuid.uuid4().hex
    _FOLDERS.add(folder)
    folder.mkdir(parents=True)
    return folder


def remove(path: Path) -> None:
    """Remove a folder, or a file with the folder that it is in."""
    folder = path if path.is_dir() else path.parent
    shutil.rmtree(folder, ignore_errors=True)
    _FOLDERS.discard(folder)


def start_clearing() -> None:
    """Begin to remove what ended processes have left of imports; each import tries it again."""

    def clear() -> None:
        try:
            remove_left()
        except (DatabaseError, OSError) as error:
            log.warning("what ended imports left could not be removed yet: %s", error)
        finally:
            connections.close_all()

    _THREAD.submit(clear)


def remove_left() -> None:
    """Remove what imports have left whose process has ended: files, and parts of conversations.

    No other server works in this one's DATA_DIR.
    """
    for folder in (Path(settings.DATA_DIR) / "imports").glob("*"):
        if folder not in _FOLDERS:
            shutil.rmtree(folder, ignore_errors=True)
    record_import.remove_parts()


def _run(job: Job, path: Path, read: Read, language: str | None) -> None:
    with translation.override(language):
        try:
            remove_left()
            pieces = _counted(read(path), job)
            with errors.saving():
                for one in load_conversations(pieces, owner=job.owner, source=job.source):
                    job.imported += [] if one.refusal else [one.source.conversation_id]
                    job.unused += bool(one.refusal)
                    if one.refusal and job.unused <= PROBLEMS_KEPT:
                        job.left_out.append(one)
            if not job.imported:
                nothing = _("The file holds nothing that can be used.")
                job.refusal = job.left_out[0].refusal if job.unused == 1 else nothing
        except errors.Refused as error:
            job.refusal = str(error)
        except Exception:
            log.exception("an import failed")
            job.refusal = _("The import failed.")
        finally:
            remove(path)
            job.is_over = True
            connections.close_all()


def _counted(pieces: Iterable[Piece], job: Job) -> Iterator[Piece]:
    """Yield the pieces, and note how many messages there are."""
    for piece in pieces:
        job.messages += isinstance(piece, dict)
        yield piece
