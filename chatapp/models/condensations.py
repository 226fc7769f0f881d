"""The record of condensations: every attempt, from its start."""

import uuid
from collections import Counter
from decimal import Decimal
from operator import attrgetter
from typing import Any, Self

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Case, F, FloatField, Func, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import fields
from chatapp.models.audit import AuditEntry, Recorded, RecordedQuerySet
from chatapp.models.conversations import Conversation
from chatapp.models.messages import Message
from chatapp.models.rewinds import Hiding
from chatapp.models.turns import Turn


class JulianDay(Func):
    """A moment as a number of days, which the database makes of it itself."""

    function = "julianday"
    output_field = FloatField()

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        """Count them from another day."""
        template = "date_part('epoch', %(expressions)s) / 86400"
        return self.as_sql(compiler, connection, template=template)


DAY = 24 * 3600.0  # seconds
# An older record has no total: its own cost stands for it.
SPENT = Case(When(work_seconds=None, then="cost"), default="total_cost")
# The sums of attempts that are annotated with what they ``spent``.
SPENDING: dict[str, models.Aggregate] = {
    "cost": models.Sum("spent"),
    "cost_unknown": models.Count("pk", filter=Q(spent=None)),
    "cost_guesses": models.Count(
        "pk", filter=Q(total_measured=False) | Q(total_measured=None, cost_measured=False)
    ),
}
# Columns that a list can be sorted by, as numbers, each with the number for an unknown value.
_RANKS: dict[str, tuple[Combinable, float]] = {
    "saved": (F("tokens_before") - F("tokens_after"), 0.0),
    "cost": (SPENT, -1.0),
    "duration": (
        Coalesce(
            F("work_seconds") / DAY,
            JulianDay("finished_at") - JulianDay("started_at"),
            output_field=FloatField(),
        ),
        -1.0,
    ),
}


class CondensationQuerySet(RecordedQuerySet["Condensation"]):
    """Attempts by owner and outcome."""

    def owned_by(self, user: User) -> Self:
        """Return attempts in the conversations of ``user`` that were not deleted."""
        return self.filter(conversation__owner=user, conversation__deleted_at=None)

    def whole(self) -> Self:
        """Leave out tries: attempts that another one replaced, and that are part of it."""
        return self.filter(made_for=None)

    def newest_first(self) -> Self:
        """Return attempts as the history page lists them."""
        return self.order_by("-started_at", "-pk")

    def sorted_by(self, name: str) -> Self:
        """Return those with the largest ``rank`` first: by name; newest first without one."""
        if not name:
            return self.newest_first()
        number, unknown = _RANKS[name]
        rank = Coalesce(Cast(number, FloatField()), Value(unknown))
        return self.annotate(rank=rank).order_by("-rank", "-started_at", "-pk")

    def last_tried(self, conversation_id: uuid.UUID) -> dict[str, int]:
        """Return a situation's ``condensed_at`` and ``undone_at`` in a conversation."""
        # A draft that was not used was no attempt, and nothing is left of one that was rewound.
        tried = self.filter(conversation=conversation_id, message__rewind_parent=None)
        tried = tried.exclude(trigger=Condensation.Trigger.AHEAD, message=None)
        undone = Q(status=Condensation.Status.UNDONE)
        return tried.aggregate(
            condensed_at=models.Max("at_seq", filter=~undone, default=0),
            undone_at=models.Max("at_seq", filter=undone, default=0),
        )

    def undone(self) -> Self:
        """Return undone attempts that no later rewind has set aside."""
        return self.filter(status=Condensation.Status.UNDONE, message__rewind_parent=None)

    def brief(self) -> Self:
        """Leave out the long texts of the record, which a list does not show."""
        return self.defer("prompt", "summary", "analysis", "details", "folded")

    def with_outcome(self, outcome: str) -> Self:
        """Return attempts with this outcome; all of them if it is empty."""
        if not outcome:
            return self
        if outcome in Condensation.Kind.values:
            return self.filter(kind=outcome, status=Condensation.Status.SUCCEEDED)
        return self.filter(status=outcome)

    def with_place(self) -> Self:
        """Add ``place``: the position of the attempt's row in its conversation.

        And ``gone_with``: the rewind that took its message along, if any.
        """
        newest_then = Message.objects.filter(
            conversation=models.OuterRef("conversation"), seq=models.OuterRef("at_seq")
        )
        then = models.Subquery(newest_then.values("position")[:1])
        return self.annotate(
            place=Coalesce(models.F("message__position"), then),
            gone_with=models.F("message__rewind_parent"),
        )

    def totals(self) -> dict[str, Any]:
        """Return cost in USD, tokens saved by attempts in force, and ``outcomes``: their counts.

        The cost is None if it is known of no attempt that was not free. ``saved_by`` has the tokens
        saved, by the name of the profile that has to read less.
        """
        in_force = Q(status=Condensation.Status.SUCCEEDED, message__rewind_parent=None)
        saved = models.F("tokens_before") - models.F("tokens_after")
        sums = {
            "attempts": models.Count("pk"),
            "in_force": models.Count("pk", filter=in_force),
            **SPENDING,
            "tokens_saved": models.Sum(saved, filter=in_force, default=0),
        }
        # One look at the rows: of a hundred thousand, each takes its time.
        columns = self.order_by().annotate(spent=SPENT).values("kind", "status", "profile_name")
        kinds: list[Any] = [*columns.annotate(**sums)]
        totals = {name: sum(one[name] or 0 for one in kinds) for name in sums}
        if totals["cost_unknown"] or not kinds:
            totals["cost"] = totals["cost"] or None
        counts, saved_by = Counter[Condensation.Outcome](), Counter[str]()
        for one in kinds:
            counts[Condensation.Outcome.of(one["kind"], one["status"])] += one["attempts"]
            saved_by[one["profile_name"]] += one["tokens_saved"]
        measured = not totals["cost_guesses"]
        return totals | {"outcomes": counts, "saved_by": saved_by, "cost_measured": measured}


class Condensation(fields.Speaking, Recorded, Hiding):
    """One attempt to make the context smaller, from its start.

    ``message`` is the summary or marker that it left; the profile that wrote it is the ``writer``,
    if it was another one. A try is ``made_for`` the attempt that took its place in the end: one
    attempt is that row with its ``tries``. Its ``total_cost`` and ``work_seconds`` are theirs too,
    and a person's time for a review, the ``review_seconds``, is apart. The ``predicted`` usage of
    its calls, in tokens and USD, was stored before the first of them.
    """

    KIND = AuditEntry.Kind.CONDENSATION
    FACTS = (
        "kind", "status", "trigger", "strategy", "at_seq", "message_id", "model", "writer_model",
        "threshold", "threshold_source", "context_window", "allowed", "tokens_before",
        "tokens_before_measured", "tokens_after", "tokens_after_measured", "messages_hidden",
        "results_hidden", "condensations_hidden", "cost", "cost_measured", "predicted_input",
        "predicted_cache_read", "predicted_cache_write", "predicted_output", "predicted_cost",
        "fell_back_to", "started_at", "finished_at", "undone_at", "redone_at", "rating", "rated_at",
        "made_for_id", "total_cost", "total_measured", "work_seconds", "review_seconds",
    )  # fmt: skip
    CONTENTS = (
        "prompt", "focus", "summary", "analysis", "notes", "receipt", "folded", "error", "details",
        "profile_name", "writer_name", "rating_words",
    )  # fmt: skip
    CHANGING = (
        "status", "undone_at", "redone_at", "receipt", "cost", "cost_measured", "rating",
        "rating_words", "rated_at", "made_for_id", "total_cost", "total_measured", "work_seconds",
        "review_seconds",
    )  # fmt: skip

    class Status(models.TextChoices):
        """The states and results of an attempt."""

        RUNNING = "running", _("running")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")
        DECLINED = "declined", _("nothing to do")  # nothing went wrong
        CANCELLED = "cancelled", _("cancelled")
        UNDONE = "undone", _("undone")
        DRAFTED = "drafted", _("drafted")
        UNUSED = "unused", _("draft not used")  # something made it useless first

    class Outcome(models.TextChoices):
        """The outcome of an attempt for people: kind and status in one."""

        CONDENSED = "condensed", _("condensed")
        TRUNCATED = "truncated", _("truncated")
        CLEARED = "cleared", _("tool output cleared")
        FAILED = "failed", _("failed")
        DECLINED = "declined", _("nothing to do")
        CANCELLED = "cancelled", _("cancelled")
        UNDONE = "undone", _("undone")
        RUNNING = "running", _("running")
        DRAFTED = "drafted", _("drafted")
        UNUSED = "unused", _("draft not used")

        @classmethod
        def of(cls, kind: str, status: str) -> Self:
            """Return the outcome for this kind and status."""
            return cls(kind if status == Condensation.Status.SUCCEEDED else status)

    class Trigger(models.TextChoices):
        """The cause of an attempt."""

        AUTO = "auto", _("automatic")
        FORCED = "forced", _("forced")
        MANUAL = "manual", _("by you")
        AHEAD = "ahead", _("drafted ahead")  # in the background, of no turn before it is used
        IDLE = "idle", _("while idle")

    class Kind(models.TextChoices):
        """The treatment of the hidden messages."""

        CONDENSED = "condensed", _("condensed")
        TRUNCATED = "truncated", _("truncated")
        CLEARED = "cleared", _("cleared")  # hides results only

    class Rating(models.IntegerChoices):
        """A person's verdict on a summary."""

        GOOD = 1, _("good")
        BAD = -1, _("bad")

    SAID = frozenset({"notes", "error"})
    # The states of a draft that may still be used.
    OPEN = (Status.RUNNING, Status.DRAFTED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="condensations")
    turn = models.ForeignKey(Turn, models.SET_NULL, null=True, related_name="condensations")
    # The process that writes a draft; see ``processes.is_left``.
    owner = models.CharField(max_length=120, null=True)  # noqa: DJ001 - so that no row is written anew
    message = models.OneToOneField(Message, models.SET_NULL, null=True, related_name="condensation")
    # An import stores a try before the attempt that it names. Few attempts are tries: SQLite would
    # find all others by this column's own index, and not by the one that holds the figures.
    made_for = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        related_name="tries",
        db_constraint=False,
        db_index=False,
    )
    at_seq = models.PositiveIntegerField()  # newest message when it began
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    kind = models.CharField(max_length=10, choices=Kind)
    strategy = models.CharField(max_length=200)
    trigger = models.CharField(max_length=10, choices=Trigger)
    threshold = models.FloatField()
    threshold_source = models.CharField(max_length=10)
    context_window = models.PositiveIntegerField()
    allowed = models.IntegerField()
    profile_name = models.CharField(max_length=80)
    model = models.CharField(max_length=100)
    writer_name = models.CharField(max_length=80, blank=True)
    writer_model = models.CharField(max_length=100, blank=True)
    prompt = fields.TextField(blank=True)
    focus = fields.TextField(blank=True)
    scope = fields.JSONField(null=True)  # of a part, as the page sends it to try again
    tokens_before = models.PositiveIntegerField()
    tokens_before_measured = models.BooleanField()
    tokens_after = models.PositiveIntegerField(null=True)
    tokens_after_measured = models.BooleanField(default=False)
    cost = fields.usd()
    cost_measured = models.BooleanField(default=True)
    total_cost = fields.usd(default=None)  # with its tries
    total_measured = models.BooleanField(null=True)
    work_seconds = models.FloatField(null=True)  # with its tries, without reviews
    review_seconds = models.FloatField(default=0, db_default=0)
    predicted_input = models.PositiveIntegerField(null=True)
    predicted_cache_read = models.PositiveIntegerField(null=True)
    predicted_cache_write = models.PositiveIntegerField(null=True)
    predicted_output = models.PositiveIntegerField(null=True)
    predicted_cost = fields.usd(default=None)
    summary = fields.TextField(blank=True)
    analysis = fields.TextField(blank=True)
    notes = fields.JSONField(default=list)
    receipt = fields.ReceiptField()
    folded = fields.JSONField(default=dict)  # from ``Folded.to_json``, read by ``read_folded``
    error = fields.TextField(blank=True)
    details = fields.TextField(blank=True)
    fell_back_to = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)
    rewind_parent = models.UUIDField(null=True)  # that took one without a message along
    undone_at = models.DateTimeField(null=True)
    redone_at = models.DateTimeField(null=True)
    rating = models.SmallIntegerField(choices=Rating, null=True)
    # The reason, which later summary requests pass on.
    rating_words = fields.TextField(blank=True, default="", db_default="")
    rated_at = models.DateTimeField(null=True)

    objects = CondensationQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(fields=("conversation", "at_seq"), name="condensation_place"),
            models.Index(fields=("-started_at",), name="condensation_recent"),
            models.Index(
                fields=("made_for",), condition=Q(made_for__isnull=False), name="condensation_tries"
            ),
            models.Index(
                fields=("conversation", "-rated_at"),
                condition=Q(rated_at__isnull=False),
                name="condensation_rated",
            ),
            # All that is summed, sorted and chosen by, apart from the long texts in the rows.
            models.Index(
                fields=(
                    *("conversation", "kind", "status", "profile_name", "strategy", "trigger"),
                    *("message", "tokens_before", "tokens_after", "cost", "cost_measured"),
                    *("made_for", "total_cost", "total_measured", "work_seconds"),
                    *("started_at", "finished_at", "id"),
                ),
                name="condensation_figures",
            ),
        )

    @property
    def is_undoable(self) -> bool:
        """True if it is in force, and its summary is not hidden by a later one."""
        if self.status != self.Status.SUCCEEDED or self.message is None:
            return False
        return self.message.rewind_parent is None and not self.message.hidden

    @property
    def outcome(self) -> "models.TextChoices":
        """The outcome of the attempt."""
        return self.Outcome.of(self.kind, self.status)

    @property
    def predicted(self) -> condense.Usage | None:
        """The predicted usage of the calls, None if no model was to be called."""
        if self.predicted_input is None:
            return None
        return condense.Usage(
            input=self.predicted_input,
            output=self.predicted_output or 0,
            cache_read=self.predicted_cache_read or 0,
            cache_write=self.predicted_cache_write or 0,
        )

    def read_folded(self) -> condense.Folded | None:
        """Return the record of the folded files, None without one."""
        return condense.Folded.from_json(self.folded) if self.folded else None

    @property
    def duration(self) -> float | None:
        """Seconds of work, its tries' with it and its reviews' without; None while it runs."""
        if self.work_seconds is not None:
            return self.work_seconds
        return (self.finished_at - self.started_at).total_seconds() if self.finished_at else None

    @property
    def tried(self) -> "list[Condensation]":
        """Its tries, the oldest first."""
        return sorted(self.tries.all(), key=attrgetter("started_at"))

    @property
    def whole_cost(self) -> Decimal | None:
        """The cost with its tries, None if unknown."""
        cost: Decimal | None = self.cost if self.work_seconds is None else self.total_cost
        return cost

    @property
    def whole_measured(self) -> bool:
        """True if the whole cost is measured."""
        return self.cost_measured if self.total_measured is None else self.total_measured
