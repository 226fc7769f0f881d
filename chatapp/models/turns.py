"""Turns of a conversation, and the rewinds that set part of it aside."""

import functools
import os
import socket
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.agent.errors import TurnEnded
from chatapp.models import fields
from chatapp.models.audit import AuditEntry, Recorded, RecordedQuerySet
from chatapp.models.conversations import Conversation
from chatapp.models.database import execute, is_shared, now
from chatapp.models.messages import Message
from chatapp.models.profiles import Profile

_PROC = Path("/proc")
_BOOT = _PROC / "sys/kernel/random/boot_id"

# States of a process that is a zombie, or about to disappear (proc_pid_stat(5)).
_ENDED = frozenset("ZXx")

# An owner that has not been heard of for so long is gone, wherever it was.
SILENCE = timedelta(seconds=8)
# Nor does anything beside a turn take so long, which gives no signs.
LONGEST = timedelta(days=1)


def this_process() -> str:
    """Return this process as an owner."""
    return describe(os.getpid())


@functools.cache
def describe(pid: int) -> str:
    """Return a process of this machine as an owner."""
    return f"{_machine()}/{pid}/{_start_of(pid) or '?'}"


@functools.cache
def _machine() -> str:
    boot = _BOOT.read_text("ascii").strip()[:8] if _BOOT.exists() else "?"
    return f"{socket.gethostname()[:60]}.{boot}"


def _start_of(pid: int) -> str:
    """Return when a process of this machine began, in ticks since its boot; "" without one.

    A zombie is none: it has ended, and only its parent has not asked for its exit code yet.
    """
    try:
        status = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    # The name in parentheses may have spaces; the state follows it, and 18 fields later the start.
    state, *fields = status.rpartition(")")[2].split()
    return "" if state in _ENDED else fields[18]


def has_ended(owner: str) -> bool:
    """Whether an owner is a process of this machine that does not exist any more."""
    machine, pid, start = owner.rsplit("/", 2) if owner.count("/") > 1 else ("", "0", "")
    if machine != _machine() or not _PROC.is_dir():
        return False
    return _start_of(int(pid)) != start


def is_left(owner: str | None, begun: datetime) -> bool:
    """Whether what ``owner`` began beside its turns is nobody's any more.

    What only one process can use is left by all others.
    """
    if owner == this_process():
        return False
    return not (owner and is_shared()) or has_ended(owner) or begun < now() - LONGEST


class TurnQuerySet(models.QuerySet["Turn"]):
    """Turns by what became of them."""

    def in_force(self) -> Self:
        """Leave out turns that a rewind took back."""
        return self.filter(rewind_parent=None)

    def unfinished(self) -> Self:
        """Return turns that are not over; a conversation has one at most."""
        return self.filter(finished_at=None)

    def worked_on(self) -> Self:
        """Return turns that a process works on, or should: one that waits for a person needs none.

        It may wait for days, and outlives the process that began it.
        """
        return self.unfinished().exclude(status=Turn.Status.WAITING)

    def answering(self) -> Self:
        """Leave out condensations by hand, which have a record of their own."""
        return self.exclude(origin=Turn.Origin.CONDENSED)

    def newest(self) -> "Turn | None":
        """Return the turn that began last, None without any."""
        return self.latest_first().first()

    def latest_first(self) -> Self:
        """Return turns by their beginning."""
        return self.order_by("-started_at", "-pk")


class Turn(models.Model):
    """From one message of the user to the final reply; ``nonce`` makes sending idempotent.

    A condensation by hand is a turn too, since nothing else may run meanwhile; it answers nothing.
    ``at_seq`` was the newest message before the turn began, ``last_seq`` the newest when it ended,
    and ``question_seq`` is the message it answers: its own, or that of the turn it takes up again.
    ``profile_at_fault`` says that the profile's key, model or address made it fail, and
    ``rewind_parent`` names the rewind that took the whole turn back.

    Until it is over, it belongs to the process ``owner`` (see ``owners``), whose last sign of life
    is ``heartbeat_at``; ``doing`` says what at, and ``step`` counts the calls for an answer.
    """

    class Status(models.TextChoices):
        """How a turn stands or ended."""

        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        WAITING = "waiting", _("waiting for a person")
        SUCCEEDED = "succeeded", _("succeeded")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", _("failed")
        INTERRUPTED = "interrupted", _("interrupted")

    class Doing(models.TextChoices):
        """What a turn is at."""

        CALLING = "calling", _("calling the model")
        USING_TOOLS = "using_tools", _("using tools")
        CONDENSING = "condensing", _("condensing the context")

    class Origin(models.TextChoices):
        """What began a turn."""

        SENT = "sent", _("a message was sent")
        REGENERATED = "regenerated", _("an answer was asked for anew")
        RETRIED = "retried", _("a turn that failed was tried again")
        CONTINUED = "continued", _("an answer that was cut was continued")
        CONDENSED = "condensed", _("the context was condensed by hand")

    # How turns end that can be tried again.
    UNDONE = frozenset({Status.STOPPED, Status.FAILED, Status.INTERRUPTED})

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="turns")
    nonce = models.UUIDField(default=uuid.uuid4)
    origin = models.CharField(max_length=12, choices=Origin, default=Origin.SENT)
    status = models.CharField(max_length=12, choices=Status, default=Status.QUEUED)
    owner = models.CharField(max_length=120, blank=True)
    heartbeat_at = models.DateTimeField(null=True)
    doing = models.CharField(max_length=12, choices=Doing, blank=True)
    step = models.PositiveIntegerField(default=0)
    error = fields.TextField(blank=True)
    details = fields.TextField(blank=True)
    profile = models.ForeignKey(Profile, models.SET_NULL, null=True, related_name="+")
    profile_at_fault = models.BooleanField(default=False)
    at_seq = models.PositiveIntegerField(default=0)
    question_seq = models.PositiveIntegerField(default=0)
    last_seq = models.PositiveIntegerField(null=True)
    rewind_parent = models.UUIDField(null=True)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    objects = TurnQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("conversation", "nonce"), name="turn_nonce"),
            models.UniqueConstraint(
                fields=("conversation",), condition=Q(finished_at=None), name="one_unfinished_turn"
            ),
        )

    def __str__(self) -> str:
        return f"{self.status} turn"

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs or waits any more."""
        return self.finished_at is not None

    @property
    def is_abandoned(self) -> bool:
        """Whether the process that it belongs to has ended, or gave no sign for too long."""
        heard = self.heartbeat_at
        return heard is None or heard < now() - SILENCE or has_ended(self.owner)

    def go_on(self, doing: Doing, *, step: int | None = None) -> None:
        """Note what it is at from now on; raise TurnEnded where somebody took it for dead."""
        sql = (
            "UPDATE chatapp_turn SET status = %s, doing = %s, step = COALESCE(%s, step) "
            "WHERE id = %s AND owner = %s AND finished_at IS NULL RETURNING id"
        )
        if not execute(sql, Turn.Status.RUNNING, doing, step, self.pk, self.owner):
            raise TurnEnded(_("Another process of the server ended this turn."))

    def finish(self, status: Status, error: str, details: str, *, profile_at_fault: bool) -> bool:
        """Note how it ended; False where it is over, or another process took it."""
        sql = (
            "UPDATE chatapp_turn SET status = %s, error = %s, details = %s, profile_at_fault = %s, "
            "doing = '', finished_at = %s, last_seq = (SELECT last_seq FROM chatapp_conversation "
            "WHERE id = chatapp_turn.conversation_id) "
            "WHERE id = %s AND owner = %s AND finished_at IS NULL RETURNING id"
        )
        said = (status, condense.well_formed_json(error), condense.well_formed_json(details))
        return bool(execute(sql, *said, profile_at_fault, timezone.now(), self.pk, self.owner))

    def wait(self) -> None:
        """Note that it waits for a person; raise TurnEnded where somebody took it for dead."""
        own = Turn.objects.unfinished().filter(pk=self.pk, owner=self.owner)
        if not own.update(status=Turn.Status.WAITING):
            raise TurnEnded(_("Another process of the server ended this turn."))

    @property
    def waits(self) -> bool:
        """Whether a person has to say something before it goes on."""
        return self.status == Turn.Status.WAITING and not self.is_over

    @property
    def condenses(self) -> bool:
        """Whether this is a condensation by hand."""
        return self.origin == Turn.Origin.CONDENSED


class Hiding(models.Model):
    """How much something hid, counted as people see it: see ``MessageQuerySet.count_seen``."""

    messages_hidden = models.PositiveIntegerField(default=0)
    results_hidden = models.PositiveIntegerField(default=0)
    condensations_hidden = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True


class RewindQuerySet(RecordedQuerySet["Rewind"]):
    """Rewinds by whether they can be taken back."""

    def undoable(self) -> Self:
        """Return the rewind that can be undone: in force, and nothing new was said since."""
        return self.with_undoable().filter(is_undoable=True)

    def with_undoable(self) -> Self:
        """Add ``is_undoable``: whether it is one of those."""
        later = Message.objects.filter(
            conversation=OuterRef("conversation"), seq__gt=OuterRef("last_seq")
        )
        in_force = Q(root_seq=None, undone_at=None, rewind_parent=None)
        return self.annotate(is_undoable=Q(in_force & ~Exists(later.said())))


class Rewind(Recorded, Hiding):
    """The user went back to before message ``to_seq``; ``last_seq`` was the newest one then.

    An edit and an answer asked for anew set what was there aside as a version: ``version`` is its
    number, and ``root_seq`` the message that all versions of one place stand for. Going to another
    version is a rewind of the one that is shown, which ``brings_back`` an older rewind's messages.
    ``rewind_parent`` is a later rewind that took this one along. ``files_before`` is a snapshot of
    the workspace, where the files went back too.
    """

    KIND = AuditEntry.Kind.REWIND
    FACTS = (
        "cause", "to_seq", "last_seq", "root_seq", "version", "files_before", "brings_back_id",
        "messages_hidden", "results_hidden", "condensations_hidden", "created_at", "undone_at",
    )  # fmt: skip

    class Cause(models.TextChoices):
        """Why something was set aside."""

        REWOUND = "rewound", _("rewound")
        RETRIED = "retried", _("tried again")
        EDITED = "edited", _("edited")
        REGENERATED = "regenerated", _("answered again")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="rewinds")
    cause = models.CharField(max_length=12, choices=Cause, default=Cause.REWOUND)
    to_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    root_seq = models.PositiveIntegerField(null=True)
    version = models.PositiveIntegerField(null=True)
    files_before = models.CharField(max_length=64, blank=True)
    brings_back = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    rewind_parent = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    undone_at = models.DateTimeField(null=True)

    objects = RewindQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(fields=("conversation", "created_at"), name="rewind_recent"),)

    def __str__(self) -> str:
        return f"Rewind to {self.to_seq}"
