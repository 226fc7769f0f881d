"""The audit trail: every condensation that was tried, every model call that was made."""

import itertools
import uuid
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Self

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import fields
from chatapp.models.conversations import Conversation, Message
from chatapp.models.prepared import Change, prepared_update
from chatapp.models.turns import Hiding, Turn


def _cost() -> "models.DecimalField[Any, Any]":
    """Return a column for USD, exact to one token at 0.0001 USD per million."""
    return models.DecimalField(max_digits=20, decimal_places=10, default=Decimal(0))


class CondensationQuerySet(models.QuerySet["Condensation"]):
    """Attempts by owner and outcome."""

    def owned_by(self, user: User) -> Self:
        """Return attempts in the conversations of ``user`` that were not deleted."""
        return self.filter(conversation__owner=user, conversation__deleted_at=None)

    def newest_first(self) -> Self:
        """Return attempts as the history page lists them."""
        return self.order_by("-started_at", "-pk")

    def brief(self) -> Self:
        """Leave out the long texts of the record, which a list does not show."""
        return self.defer("prompt", "summary", "analysis", "details", "folded")

    def with_outcome(self, outcome: str) -> Self:
        """Return attempts that came to this; all of them where it is empty."""
        if not outcome:
            return self
        every = itertools.product(Condensation.Kind.values, Condensation.Status.values)
        pairs = [pair for pair in every if Condensation.Outcome.of(*pair) == outcome]
        return self.filter(reduce(or_, (Q(kind=kind, status=status) for kind, status in pairs)))

    def with_place(self) -> Self:
        """Add ``place``: the position of the attempt's row in its conversation.

        And ``gone_with``: the rewind that took along what it made, if any.
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
        """Return cost in USD, tokens saved by attempts in force, and ``outcomes``: their counts."""
        in_force = Q(status=Condensation.Status.SUCCEEDED, message__rewind_parent=None)
        saved = models.F("tokens_before") - models.F("tokens_after")
        totals = self.aggregate(
            attempts=models.Count("pk"),
            in_force=models.Count("pk", filter=in_force),
            cost=models.Sum("cost", default=Decimal(0)),
            cost_guesses=models.Count("pk", filter=Q(cost_measured=False)),
            tokens_saved=models.Sum(saved, filter=in_force, default=0),
        )
        counts = Counter[Condensation.Outcome]()
        for kind, status, count in self.values_list("kind", "status").annotate(models.Count("pk")):
            counts[Condensation.Outcome.of(kind, status)] += count
        return totals | {"outcomes": counts, "cost_measured": not totals["cost_guesses"]}


class Condensation(Hiding):
    """One attempt to make the context smaller, from its start.

    It is declined where there was too little to condense or to clear: nothing went wrong.
    ``message`` is the summary or marker it left; ``at_seq`` was the newest message when it began.
    The profile that wrote the summary is the ``writer``, where it was another one.
    A clearing hides results only. ``folded`` is as the engine's ``to_json`` gives it, to be read by
    ``read_folded``. ``rewind_parent`` is the rewind that took an attempt along which left no
    message.
    """

    class Status(models.TextChoices):
        """How the attempt stands or ended."""

        RUNNING = "running", _("running")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")
        DECLINED = "declined", _("nothing to do")
        CANCELLED = "cancelled", _("cancelled")
        UNDONE = "undone", _("undone")

    class Outcome(models.TextChoices):
        """What it came to, for people: kind and status in one."""

        CONDENSED = "condensed", _("condensed")
        TRUNCATED = "truncated", _("truncated")
        CLEARED = "cleared", _("tool output cleared")
        FAILED = "failed", _("failed")
        DECLINED = "declined", _("nothing to do")
        CANCELLED = "cancelled", _("cancelled")
        UNDONE = "undone", _("undone")
        RUNNING = "running", _("running")

        @classmethod
        def of(cls, kind: str, status: str) -> Self:
            """Return what an attempt of this kind and status came to."""
            return cls(kind if status == Condensation.Status.SUCCEEDED else status)

    class Trigger(models.TextChoices):
        """Who or what asked for it."""

        AUTO = "auto", _("automatic")
        FORCED = "forced", _("forced")
        MANUAL = "manual", _("by you")

    class Kind(models.TextChoices):
        """What became of the hidden messages."""

        CONDENSED = "condensed", _("condensed")
        TRUNCATED = "truncated", _("truncated")
        CLEARED = "cleared", _("cleared")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="condensations")
    turn = models.ForeignKey(Turn, models.SET_NULL, null=True, related_name="condensations")
    message = models.OneToOneField(Message, models.SET_NULL, null=True, related_name="condensation")
    at_seq = models.PositiveIntegerField()
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
    tokens_before = models.PositiveIntegerField()
    tokens_before_measured = models.BooleanField()
    tokens_after = models.PositiveIntegerField(null=True)
    tokens_after_measured = models.BooleanField(default=False)
    cost = _cost()
    cost_measured = models.BooleanField(default=True)
    summary = fields.TextField(blank=True)
    analysis = fields.TextField(blank=True)
    notes = fields.JSONField(default=list)
    receipt = fields.ReceiptField()
    folded = fields.JSONField(default=dict)
    error = fields.TextField(blank=True)
    details = fields.TextField(blank=True)
    fell_back_to = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)
    rewind_parent = models.UUIDField(null=True)
    undone_at = models.DateTimeField(null=True)

    objects = CondensationQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(fields=("conversation", "at_seq"), name="condensation_place"),
            models.Index(fields=("-started_at",), name="condensation_recent"),
        )

    def __str__(self) -> str:
        """Name the attempt by its outcome."""
        return f"{self.kind} ({self.status})"

    @property
    def outcome(self) -> Outcome:
        """What the attempt came to."""
        return Condensation.Outcome.of(self.kind, self.status)

    def read_folded(self) -> condense.FoldingRecord | None:
        """Return what became of the files that were read, None where there were none."""
        return condense.FoldingRecord.from_json(self.folded) if self.folded else None

    @property
    def duration(self) -> timedelta | None:
        """How long the attempt took, None while it runs."""
        return self.finished_at - self.started_at if self.finished_at else None


class ModelCallQuerySet(models.QuerySet["ModelCall"]):
    """Calls, summed."""

    def per_turn(self) -> "models.QuerySet[ModelCall, tuple[Any, ...]]":
        """Return turns with their calls, tokens read and written, cost in USD, and estimates."""
        prompt = models.F("tokens_input") + models.F("tokens_cache_read")
        sums = {
            "calls": models.Count("pk"),
            "tokens_in": models.Sum(prompt + models.F("tokens_cache_write")),
            "tokens_out": models.Sum("tokens_output"),
            "total": models.Sum("cost"),
            "guesses": models.Count("pk", filter=Q(usage_measured=False)),
        }
        return self.values("turn").annotate(**sums).values_list("turn", *sums)

    def spent(self) -> dict[str, Any]:
        """Return what these calls cost, in the columns of an attempt."""
        guessed = Q(usage_measured=False)
        sums = self.aggregate(
            cost=models.Sum("cost", default=Decimal(0)), guesses=models.Count("pk", filter=guessed)
        )
        return {"cost": sums["cost"], "cost_measured": not sums["guesses"]}

    def measured(self, model: str) -> Self:
        """Return the calls whose prompt was both estimated and measured, the latest first."""
        calls = self.filter(
            model=model, error="", usage_measured=True, tokens_estimated__isnull=False
        )
        return calls.order_by("-created_at", "-pk")


class ModelCall(models.Model):
    """One request to a model: what it was for, used and cost, failed ones included.

    ``tokens_estimated`` is what the prompt was thought to take, before calibration, images and PDFs
    (``tokens_media``) included; with what was measured beside it, later estimates learn from it.
    Without ``usage_measured`` the provider did not report all that was used, since the call broke
    off: its output is an estimate, and with it the cost.

    A row is made before the call. While that is answered, ``draft`` has what was written so far, as
    JSON; what the answer becomes is stored in the transaction that clears it. It stays where the
    call broke off with more than its message may hold: thinking, and calls that were not complete.

    The provider's names are ``request_id`` and ``reply_id``; ``cache_miss`` says why it could not
    read ``tokens_missed`` of the prompt from its cache, and ``transformations`` what it changed of
    what was sent. ``seconds_to_first`` passed before the model wrote anything.
    """

    class Status(models.TextChoices):
        """How the call stands or ended."""

        RUNNING = "running", _("running")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")
        INTERRUPTED = "interrupted", _("interrupted")

    class Purpose(models.TextChoices):
        """What the call was for."""

        CHAT = "chat", _("chat")
        SUMMARY = "summary", _("summary")

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="calls")
    turn = models.ForeignKey(Turn, models.SET_NULL, null=True, related_name="calls")
    message = models.OneToOneField(Message, models.SET_NULL, null=True, related_name="call")
    condensation = models.ForeignKey(Condensation, models.SET_NULL, null=True, related_name="calls")
    purpose = models.CharField(max_length=10, choices=Purpose)
    status = models.CharField(max_length=12, choices=Status, default=Status.RUNNING)
    draft = models.TextField(blank=True)
    profile_name = models.CharField(max_length=80)
    model = models.CharField(max_length=100)
    tokens_input = models.PositiveIntegerField(default=0)
    tokens_output = models.PositiveIntegerField(default=0)
    tokens_cache_read = models.PositiveIntegerField(default=0)
    tokens_cache_write = models.PositiveIntegerField(default=0)
    usage_measured = models.BooleanField(default=True)
    tokens_estimated = models.PositiveIntegerField(null=True)
    tokens_media = models.PositiveIntegerField(default=0)
    cost = _cost()
    seconds = models.FloatField(default=0)
    seconds_to_first = models.FloatField(null=True)
    request_id = fields.CharField(max_length=100, blank=True)
    reply_id = fields.CharField(max_length=100, blank=True)
    cache_miss = fields.CharField(max_length=100, blank=True)
    tokens_missed = models.PositiveIntegerField(null=True)
    transformations = fields.JSONField(default=list)
    error = fields.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ModelCallQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(fields=("conversation", "created_at"), name="call_recent"),)

    def __str__(self) -> str:
        """Name the call by purpose and model."""
        return f"{self.purpose} call to {self.model}"

    @property
    def tokens_prompt(self) -> int:
        """Tokens of the whole prompt as the provider measured it, cached parts included."""
        return self.tokens_input + self.tokens_cache_read + self.tokens_cache_write

    @property
    def tokens_per_second(self) -> float | None:
        """How fast the model wrote once it had begun, None where that cannot be told."""
        if self.seconds_to_first is None or self.seconds <= self.seconds_to_first:
            return None
        return self.tokens_output / (self.seconds - self.seconds_to_first)


_KNOWN_AT_ITS_END = {
    "message",
    "status",
    "draft",
    "cost",
    "usage_measured",
    "tokens_input",
    "tokens_output",
    "tokens_cache_read",
    "tokens_cache_write",
    "seconds",
    "seconds_to_first",
    "request_id",
    "reply_id",
    "cache_miss",
    "tokens_missed",
    "transformations",
    "error",
}


@prepared_update(
    number=models.BigIntegerField(),
    **{one.name: one for one in ModelCall._meta.fields if one.name in _KNOWN_AT_ITS_END},  # noqa: SLF001 - Django's documented API
)
def end_call(number: int, **columns: Any) -> Change:
    """Complete the row of a call that is open still; returns how many were."""
    return ModelCall.objects.filter(pk=number, status=ModelCall.Status.RUNNING), columns


class ToolRun(models.Model):
    """One tool call from its start; the ``text`` it returned is kept until a message has it."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="tool_runs")
    call_id = fields.TextField()
    name = fields.TextField()
    text = fields.TextField(blank=True)
    is_error = models.BooleanField(default=False)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        """Name the run by its tool."""
        return f"{self.name} run"
