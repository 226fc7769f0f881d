"""Turns of a conversation, and the processes that they belong to."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.agent.errors import TurnEndedElsewhere
from chatapp.models import fields
from chatapp.models.conversations import Conversation
from chatapp.models.database import (
    SqlStatement,
    StatementFunction,
    clock,
    lock,
    locking,
    select,
    together,
)
from chatapp.models.processes import Process, this_process
from chatapp.models.profiles import Profile

# The status of an unanswered question or review, and requests to take while a turn waits.
_PENDING, _AT_ONCE = "pending", ("stop", "cancel_condensing")

# The condition that a turn is still this process's.
_LEASE = "id = %s AND owner = %s AND attempt = %s AND finished_at IS NULL"


class TurnQuerySet(models.QuerySet["Turn"]):
    """Turns by state and process."""

    def in_force(self) -> Self:
        """Leave out turns that a rewind took back."""
        return self.filter(rewind_parent=None)

    def unfinished(self) -> Self:
        """Return turns that are not over; a conversation has one at most."""
        return self.filter(finished_at=None)

    def asking(self) -> Self:
        """Return turns that wait for a person, and have nothing to do before one answers.

        A summary that applies by itself after a while is something, as is a request to stop.
        """
        asked = Q(questions__status=_PENDING)
        reviews = "condensations__reviews"
        proposed = Q(**{f"{reviews}__status": _PENDING, f"{reviews}__applies_at": None})
        called = Turn.objects.filter(requests__kind__in=_AT_ONCE, requests__taken_at=None)
        # By key: a turn with two questions is one, and PostgreSQL compares no JSON.
        waits = Turn.objects.unfinished().filter(asked | proposed, status=Turn.Status.WAITING)
        return self.filter(pk__in=waits.values("pk")).exclude(pk__in=called.values("pk"))

    def unclaimed(self, older_than: float) -> Self:
        """Return turns that have had work, but no process, for so many seconds."""
        since = Now() - timedelta(seconds=older_than)
        free = self.unfinished().filter(owner="", offered_at__lte=since)
        return free.exclude(pk__in=Turn.objects.asking().values("pk"))

    def held(self) -> dict[uuid.UUID, int]:
        """Return the attempts of the turns that are this process's, by the turns' ids."""
        return dict(self.unfinished().filter(owner=this_process()).values_list("pk", "attempt"))

    def left(self) -> Self:
        """Return turns of ended processes, in any order: one that can't be closed stops none."""
        # In a cluster, a turn without an owner waits for a worker.
        others = self.unfinished().exclude(owner__in={this_process(), *[""][: settings.CLUSTER]})
        lives = Process.objects.filter(name=OuterRef("owner"))
        return others.filter(~Exists(lives)).order_by("?")

    def locked(self, turn: "Turn") -> "Turn":
        """Return a turn as it is now, which nobody else can change before the commit."""
        lock(Conversation, turn.conversation_id)
        lock(Turn, turn.pk)
        return self.get(pk=turn.pk)

    def answering(self) -> Self:
        """Leave out condensations by hand, which have a record of their own."""
        return self.exclude(origin=Turn.Origin.CONDENSED)

    def note(self, conversation: Conversation, status: str, error: str) -> "Turn":
        """Return a turn of another program that is over, the newest one if that says the same."""
        newest = self.filter(conversation=conversation).newest()
        if newest and newest.error == error and status == newest.status == Turn.Status.SUCCEEDED:
            return newest
        now_seq = Conversation.objects.values_list("last_seq", flat=True).get(pk=conversation.pk)
        seqs = dict.fromkeys(("at_seq", "last_seq", "question_seq"), now_seq)
        said = condense.well_formed_json(error)
        over = {"status": status, "error": said, "finished_at": timezone.now()}
        return self.create(conversation=conversation, owner=this_process(), **seqs, **over)

    def newest(self) -> "Turn | None":
        """Return the turn that began last, None without any."""
        return self.latest_first().first()

    def latest_first(self) -> Self:
        """Return turns by their beginning."""
        return self.order_by("-started_at", "-pk")


@StatementFunction
def claim(pk: uuid.UUID, attempt: int) -> SqlStatement:
    """Claim a turn with so many attempts for this process; None if it is over or taken."""
    sql = (
        "UPDATE chatapp_turn SET owner = %s, attempt = attempt + 1 WHERE id = %s "
        "AND attempt = %s AND finished_at IS NULL RETURNING *"
    )
    read = select.query(Turn, sql, this_process(), pk, attempt)
    return replace(read, take=lambda *found: next(iter(read.take(*found)), None))


class Turn(fields.Speaking):
    """From one message of the user to the final reply, or a condensation by hand.

    A condensation by hand is a turn because nothing else may run meanwhile; it answers nothing.
    Until a turn is over, it belongs to the process ``owner`` (see ``this_process``). Each process
    that takes it makes another ``attempt``, and writes of an earlier one are refused.
    """

    class Status(models.TextChoices):
        """The states and results of a turn."""

        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        WAITING = "waiting", _("waiting for a person")
        SUCCEEDED = "succeeded", _("succeeded")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", _("failed")
        INTERRUPTED = "interrupted", _("interrupted")

    class Doing(models.TextChoices):
        """The activity of a running turn."""

        CALLING = "calling", _("calling the model")
        USING_TOOLS = "using_tools", _("using tools")
        CONDENSING = "condensing", _("condensing the context")

    class Origin(models.TextChoices):
        """The cause of a turn."""

        SENT = "sent", _("a message was sent")
        REGENERATED = "regenerated", _("an answer was asked for anew")
        RETRIED = "retried", _("a turn that failed was tried again")
        CONTINUED = "continued", _("an answer that was cut was continued")
        CONDENSED = "condensed", _("the context was condensed by hand")

    SAID = frozenset({"error"})
    # Ends of turns that can be tried again.
    UNDONE = frozenset({Status.STOPPED, Status.FAILED, Status.INTERRUPTED})

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="turns")
    nonce = models.UUIDField(default=uuid.uuid4)  # makes sending idempotent
    origin = models.CharField(max_length=12, choices=Origin, default=Origin.SENT)
    status = models.CharField(max_length=12, choices=Status, default=Status.QUEUED)
    owner = models.CharField(max_length=120, blank=True)  # "" while it waits for one
    attempt = models.PositiveIntegerField(default=1, db_default=1)
    offered_at = models.DateTimeField(null=True)  # without an owner it waits since then
    doing = models.CharField(max_length=12, choices=Doing, blank=True)  # activity with an owner
    step = models.PositiveIntegerField(default=0)  # counts the calls for an answer
    error = fields.TextField(blank=True)
    details = fields.TextField(blank=True)
    profile = models.ForeignKey(Profile, models.SET_NULL, null=True, related_name="+")
    profile_at_fault = models.BooleanField(default=False)  # key, model or address made it fail
    at_seq = models.PositiveIntegerField(default=0)  # newest message before it
    question_seq = models.PositiveIntegerField(default=0)  # its own message, or the retried turn's
    last_seq = models.PositiveIntegerField(null=True)  # newest at its end
    rewind_parent = models.UUIDField(null=True)  # rewind that took the whole turn back
    # Time zone of the person who began it, "" if unknown.
    zone = models.CharField(max_length=64, blank=True, default="", db_default="")
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
        indexes = (
            models.Index(fields=("owner",), condition=Q(finished_at=None), name="turn_owner"),
        )

    @property
    def is_over(self) -> bool:
        """True if nothing of it runs or waits any more."""
        return self.finished_at is not None

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Let the block be a transaction that writes for the turn; raise as ``hold`` does."""
        with transaction.atomic():
            lock(Conversation, self.conversation_id)
            self.hold()
            yield

    @StatementFunction
    def hold(self) -> SqlStatement:
        """Lock it until the commit; raise TurnEnded if it is over or another process has it.

        Every write for the turn holds it, or notes its activity; conversations are locked first.
        """
        # Rows that another transaction has locked are read again after it, on PostgreSQL as well.
        sql = f"SELECT 1 FROM chatapp_turn WHERE {_LEASE}{locking()}"  # noqa: S608 - conditions of our own
        return SqlStatement(sql, self._lease, _unless_ended)

    @StatementFunction
    def go_on(self, doing: Doing, *, step: int | None = None) -> SqlStatement:
        """Store its activity from now on; raise TurnEnded as ``hold`` does."""
        change = "status = %s, doing = %s, step = COALESCE(%s, step)"
        return replace(self._changing(change, Turn.Status.RUNNING, doing, step), take=_unless_ended)

    @StatementFunction
    def wait(self) -> SqlStatement:
        """Note that it waits for a person; raise TurnEnded as ``hold`` does."""
        return replace(self._changing("status = %s", Turn.Status.WAITING), take=_unless_ended)

    def finishing(
        self, status: Status, error: str, details: str, *, profile_at_fault: bool
    ) -> SqlStatement:
        """Return a statement that stores its end; it finds nothing if it is over, or was taken."""
        change = (
            "status = %s, error = %s, sentences = %s, details = %s, profile_at_fault = %s, "
            "doing = '', finished_at = %s, last_seq = (SELECT last_seq FROM chatapp_conversation "
            "WHERE id = chatapp_turn.conversation_id)"
        )
        sentences: Any = Turn._meta.get_field("sentences")
        made = sentences.get_db_prep_save(fields.sentences_in(error), connection)
        said = (status, condense.well_formed(error), made, condense.well_formed(details))
        return self._changing(change, *said, profile_at_fault, timezone.now())

    @transaction.atomic
    def release(self) -> bool:
        """Release it until a person answers; return False if it has to go on here.

        It has to if it isn't ``asking``, as after an answer. Raises TurnEnded as ``hold`` does.
        """
        self.hold()
        asks = Turn.objects.asking().filter(pk=self.pk).exists()
        if asks:
            together(self._changing(f"owner = '', offered_at = {clock()}"))
        return asks

    def hand_over(self) -> None:
        """Release it to the next process that claims it; raise TurnEnded as ``hold`` does.

        All that it was to store is stored. One that waits for a person waits on.
        """
        status = "CASE status WHEN 'waiting' THEN 'waiting' ELSE 'queued' END"
        change = f"owner = '', doing = '', status = {status}, offered_at = {clock()}"
        together(replace(self._changing(change), take=_unless_ended))

    def offer(self, enqueue: Callable[["Turn"], None]) -> None:
        """Continue it after an answer: ``enqueue`` it if no process waits with it.

        It is as ``locked`` has returned it in this transaction.
        """
        if self.is_unclaimed:
            Turn.objects.filter(pk=self.pk).update(offered_at=Now())
            enqueue(self)

    @property
    def _lease(self) -> tuple[uuid.UUID, str, int]:
        return self.pk, self.owner, self.attempt

    def _changing(self, change: str, *values: Any) -> SqlStatement:
        sql = f"UPDATE chatapp_turn SET {change} WHERE {_LEASE} RETURNING id"  # noqa: S608 - columns of our own
        return SqlStatement(sql, (*values, *self._lease))

    @property
    def is_unclaimed(self) -> bool:
        """True if no process has it, and it is not over."""
        return not (self.owner or self.is_over)

    @property
    def waits(self) -> bool:
        """True if it waits for a person's answer."""
        return self.status == Turn.Status.WAITING and not self.is_over

    @property
    def condenses(self) -> bool:
        """True if this is a condensation by hand."""
        return self.origin == Turn.Origin.CONDENSED


def _unless_ended(_columns: tuple[str, ...], rows: list[Any]) -> None:
    if not rows:
        said = condense.noop("Another process of the server ended this turn, or took it over.")
        raise TurnEndedElsewhere(said)
