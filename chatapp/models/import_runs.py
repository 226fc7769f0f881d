"""Imports of files that wait, run or are over, in any process."""

import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import F, Q

from chatapp.models import fields
from chatapp.models.database import Stopped, lock, now
from chatapp.models.processes import is_left, this_process

# The time that another process may take to continue an import, and to begin one.
SILENCE, LONGEST = timedelta(minutes=10), timedelta(days=1)


class TakenOver(Stopped):
    """Another attempt goes on with an import, or may; this one leaves it as it is."""


class ImportRunQuerySet(models.QuerySet["ImportRun"]):
    """Imports by state."""

    def unfinished(self) -> Self:
        """Return imports that are not over; a user has one at most."""
        return self.filter(finished_at=None)

    def begin(self, owner: User, language: str) -> "ImportRun":
        """Make an import, before its files; raise IntegrityError if the user has an open one."""
        mine = {"worker": this_process(), "heartbeat_at": now()}
        return self.create(owner=owner, language=language, **mine)

    def claim(self, pk: uuid.UUID) -> "ImportRun | None":
        """Claim an import for this process; return None if it is over."""
        mine = {"worker": this_process(), "heartbeat_at": now(), "messages": 0}
        with transaction.atomic():
            taken = self.unfinished().filter(pk=pk).update(**mine, attempt=F("attempt") + 1)
            return self.select_related("owner").get(pk=pk) if taken else None


class ImportRun(fields.Speaking):
    """Files that are imported in their owner's name, or were a while ago."""

    SAID = frozenset({"left_out", "refusal"})

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="imports")
    form = models.CharField(max_length=40, blank=True)
    name = fields.CharField(max_length=200, blank=True)  # of the first file
    digest = models.CharField(max_length=64, blank=True)  # SHA-256 of all files
    language = models.CharField(max_length=20, blank=True)  # of its owner, for sentences
    messages = models.PositiveIntegerField(default=0)  # read so far
    left_out = fields.JSONField(default=list)  # problems of the first unused ones
    unused = models.PositiveIntegerField(default=0)  # number of conversations that can't be used
    refusal = fields.TextField(blank=True)  # reason of an early end, or of no result
    worker = models.CharField(max_length=120, blank=True)  # process, "" while any may take it
    attempt = models.PositiveIntegerField(default=0)  # goes up with each process that takes it
    heartbeat_at = models.DateTimeField()  # last sign of life
    finished_at = models.DateTimeField(null=True)

    objects = ImportRunQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("owner",), condition=Q(finished_at=None), name="one_unfinished_import"
            ),
        )

    def __str__(self) -> str:
        return self.name or str(self.pk)

    @property
    def folder(self) -> Path:
        """The folder of its files, until the import is over."""
        return Path(settings.DATA_DIR) / "imports" / self.pk.hex

    @property
    def path(self) -> Path:
        """The path to import: the folder, or the only file in it."""
        files = [*self.folder.iterdir()]
        return files[0] if len(files) == 1 else self.folder

    @property
    def imported(self) -> int:
        """The number of conversations made of it so far."""
        return self.sources.filter(importer="").count()

    @property
    def is_left(self) -> bool:
        """True if its process has ended; in a cluster, a while after its last sign of life."""
        patience = timedelta()
        if settings.CLUSTER:
            patience = SILENCE if self.worker else LONGEST
        return is_left(self.worker) and self.heartbeat_at <= now() - patience

    def start(self) -> bool:
        """Store its form, name, digest and worker; return False if it isn't ours any more."""
        names = ("form", "name", "digest", "worker")
        return self._change(**{name: getattr(self, name) for name in names}, heartbeat_at=now())

    def keep_alive(self) -> bool:
        """Store a sign of life and the number of messages read; return False if it isn't ours."""
        return self._change(messages=self.messages, heartbeat_at=now())

    def hold(self) -> None:
        """Lock it until the commit; raise TakenOver if it is over or another process has it."""
        lock(ImportRun, self.pk)
        if not self._mine.exists():
            raise TakenOver

    def finish(self, refusal: str) -> bool:
        """Store its end; return False, with nothing changed, if it isn't ours."""
        told = {name: getattr(self, name) for name in ("messages", "left_out", "unused")}
        said = fields.sentences_in([refusal, self.left_out])
        return self._change(**told, refusal=refusal, sentences=said, finished_at=now())

    @property
    def _mine(self) -> ImportRunQuerySet:
        return ImportRun.objects.unfinished().filter(pk=self.pk, attempt=self.attempt)

    def _change(self, **columns: Any) -> bool:
        return bool(self._mine.update(**columns))
