"""The record of calls: every request to a model, every run of a tool."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import fields
from chatapp.models.condensations import Condensation
from chatapp.models.conversations import Conversation
from chatapp.models.database import SqlStatement, StatementFunction
from chatapp.models.messages import Message
from chatapp.models.questions import Review
from chatapp.models.turns import Turn

# The newest calls, among which those of one profile are searched.
CALLS_LOOKED_AT = 1_000
# The tokens of a call's prompt: estimated where its provider reported none.
PROMPT = models.F("tokens_input") + models.F("tokens_cache_read") + models.F("tokens_cache_write")
# The number of calls, and the tokens that they read and wrote.
_COUNTS = {
    "calls": models.Count("pk"),
    "tokens_in": models.Sum(PROMPT),
    "tokens_out": models.Sum("tokens_output"),
}


class ModelCallQuerySet(models.QuerySet["ModelCall"]):
    """Calls, summed."""

    def per_turn(self) -> "models.QuerySet[ModelCall, tuple[Any, ...]]":
        """Return turns with calls, tokens read and written, USD, estimates and unknown costs."""
        sums = {
            **_COUNTS,
            "total": models.Sum("cost"),
            "guesses": models.Count("pk", filter=Q(usage_measured=False)),
            "unpriced": models.Count("pk", filter=Q(cost=None)),
        }
        return self.values("turn").annotate(**sums).values_list("turn", *sums)

    def paid_by(self, owners: Sequence[int]) -> Self:
        """Return the calls of these users, also in deleted conversations.

        Imported calls were paid for elsewhere.
        """
        calls = self.filter(conversation__owner__in=owners)
        return calls.exclude(conversation__source__imported_at__gt=models.F("created_at"))

    def costs_by(self, *columns: str) -> "models.QuerySet[Any, Any]":
        """Return calls, tokens and cost in USD for each value of ``columns``.

        Measured and estimated costs are apart, None without such a call; ``unpriced`` are the
        calls of unknown cost. The tokens are measured if all calls are.
        ``per_second`` is the number of tokens that models wrote in a second, once they had begun;
        None if no call has it.
        """
        measured = Q(usage_measured=True)
        told = Q(seconds_to_first__lt=models.F("seconds"))
        writing = models.F("seconds") - models.F("seconds_to_first")
        written = models.Sum(Cast("tokens_output", models.FloatField()), filter=told)
        sums = {
            **_COUNTS,
            "is_measured": models.ExpressionWrapper(
                Q(calls=models.Count("pk", filter=measured)), models.BooleanField()
            ),
            "per_second": written / models.Sum(writing, filter=told),
            "measured": fields.UsdSum("cost", where=measured),
            "estimated": fields.UsdSum("cost", where=~measured),
            "unpriced": models.Count("pk", filter=Q(cost=None)),
        }
        rows: models.QuerySet[Any, Any] = self.order_by().values(*columns).annotate(**sums)
        return rows

    def spent(self) -> dict[str, Any]:
        """Return the cost of these calls, in the columns of an attempt."""
        sums = self.aggregate(
            total=fields.UsdSum("cost"),
            guesses=models.Count("pk", filter=Q(usage_measured=False)),
            unpriced=models.Count("pk", filter=Q(cost=None)),
        )
        cost = None if sums["unpriced"] else sums["total"]
        return {"cost": cost, "cost_measured": not sums["guesses"]}


class ModelCall(fields.Speaking):
    """One request to a model, with its purpose, usage and cost; failed requests are kept, too.

    A row is made before the call, with the estimated cost of its prompt, so that budgets count it.
    Until the answer is complete, its ``pieces`` have the text so far; the transaction that stores
    the message deletes them. Later estimates learn from ``tokens_estimated`` and measured usage.
    """

    class Status(models.TextChoices):
        """The states and results of a call."""

        RUNNING = "running", _("running")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")
        INTERRUPTED = "interrupted", _("interrupted")

    class Purpose(models.TextChoices):
        """The purpose of a call."""

        CHAT = "chat", _("chat")
        SUMMARY = "summary", _("summary")
        CHECK = "check", _("check of a summary")
        TITLE = "title", _("title")
        EMBEDDING = "embedding", _("search by meaning")

    SAID = frozenset({"error"})

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="calls")
    turn = models.ForeignKey(Turn, models.SET_NULL, null=True, related_name="calls")
    message = models.OneToOneField(Message, models.SET_NULL, null=True, related_name="call")
    condensation = models.ForeignKey(Condensation, models.SET_NULL, null=True, related_name="calls")
    # The process of a call outside its turn, or without one; see ``processes.is_left``.
    owner = models.CharField(max_length=120, null=True)  # noqa: DJ001 - so that no row is written anew
    purpose = models.CharField(max_length=10, choices=Purpose)
    status = models.CharField(max_length=12, choices=Status, default=Status.RUNNING)
    # JSON of a call that broke off: thinking and incomplete calls, which no message holds.
    draft = models.TextField(blank=True)
    profile_name = models.CharField(max_length=80)
    provider = models.CharField(max_length=20, blank=True)
    model = models.CharField(max_length=100)
    tokens_input = models.PositiveIntegerField(default=0)
    tokens_output = models.PositiveIntegerField(default=0)
    tokens_cache_read = models.PositiveIntegerField(default=0)
    tokens_cache_write = models.PositiveIntegerField(default=0)
    # Otherwise output and cost are estimates, and the prompt unless ``prompt_measured``.
    usage_measured = models.BooleanField(default=True)
    tokens_estimated = models.PositiveIntegerField(null=True)  # of the prompt, before calibration
    tokens_media = models.PositiveIntegerField(default=0)  # images and PDFs among these
    cost = fields.usd()
    seconds = models.FloatField(default=0)
    seconds_to_first = models.FloatField(null=True)  # before the model wrote anything
    request_id = fields.CharField(max_length=100, blank=True)  # the provider's name for it
    reply_id = fields.CharField(max_length=100, blank=True)  # the provider's name for its reply
    cache_miss = fields.CharField(max_length=100, blank=True)  # the provider's reason
    tokens_missed = models.PositiveIntegerField(null=True)  # of the prompt, not read from the cache
    transformations = fields.JSONField(default=list)  # the provider's changes to the request
    error = fields.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ModelCallQuerySet.as_manager()

    class Meta:
        # With the cost in the index, sums of costs need no rows.
        indexes = (models.Index(fields=("conversation", "created_at", "cost"), name="call_spent"),)

    @property
    def usage(self) -> condense.Usage:
        """The usage that the provider has reported, as far as it is stored."""
        return condense.Usage(
            input=self.tokens_input,
            output=self.tokens_output,
            cache_read=self.tokens_cache_read,
            cache_write=self.tokens_cache_write,
        )

    @property
    def tokens_prompt(self) -> int:
        """Tokens of the whole prompt, cached parts included; see ``prompt_measured``."""
        return self.tokens_input + self.tokens_cache_read + self.tokens_cache_write

    @property
    def prompt_measured(self) -> bool:
        """True if the provider has reported the prompt's tokens, also if the call broke off."""
        is_known = self.usage_measured or self.tokens_estimated not in {None, self.tokens_prompt}
        return is_known and self.tokens_prompt > 0

    @property
    def ended_at(self) -> datetime:
        """The moment of its end, or of its beginning while it runs."""
        return self.created_at + timedelta(seconds=self.seconds)

    @property
    def tokens_per_second(self) -> float | None:
        """The model's speed in tokens per second after its first output, None if unknown."""
        if self.seconds_to_first is None or self.seconds <= self.seconds_to_first:
            return None
        return self.tokens_output / (self.seconds - self.seconds_to_first)


@StatementFunction
def pace_of(profile: int) -> SqlStatement:
    """Return the seconds in which a profile's model reads a token, None if unknown.

    They follow from the profile's latest calls, each by the tokens it had to read before its first
    word.
    """
    sql = (
        "SELECT seconds_to_first, tokens_input + tokens_cache_read + tokens_cache_write "
        "FROM chatapp_modelcall c JOIN chatapp_turn t ON t.id = c.turn_id "
        "WHERE c.id > (SELECT MAX(id) FROM chatapp_modelcall) - %s AND t.profile_id = %s "
        "AND c.purpose = 'chat' AND seconds_to_first > 0 ORDER BY c.id DESC LIMIT 3"
    )

    def take(_columns: tuple[str, ...], rows: list[Any]) -> float | None:
        known = [seconds / read for seconds, read in rows if read]
        return median(known) if known else None

    return SqlStatement(sql, (CALLS_LOOKED_AT, profile), take)


@StatementFunction
def measured_prompts(conversation_id: uuid.UUID, model: str, most: int) -> SqlStatement:
    """Return the latest prompts that were both estimated and measured, the last one first.

    Each has its tokens as estimated, as measured, and those of its media; and the reply's name.
    """
    sql = (
        "SELECT tokens_estimated, tokens_input + tokens_cache_read + tokens_cache_write, "
        "tokens_media, reply_id FROM chatapp_modelcall "
        "WHERE conversation_id = %s AND model = %s AND error = '' "
        "AND usage_measured AND tokens_estimated IS NOT NULL "
        "ORDER BY created_at DESC, id DESC LIMIT %s"
    )
    return SqlStatement(sql, (conversation_id, model, most))


class DraftPiece(models.Model):
    """A change of a running call's draft: from ``at`` on, its JSON is ``text``.

    Text that grows is so never written twice. The pieces are deleted with the call's end.
    """

    call = models.ForeignKey(ModelCall, models.CASCADE, related_name="pieces")
    at = models.PositiveIntegerField()
    text = models.TextField()


def read_draft(call: ModelCall) -> str:
    """Return the draft of a running call as JSON, as far as it is stored."""
    draft = call.draft
    for at, text in call.pieces.order_by("pk").values_list("at", "text"):
        draft = draft[:at] + text
    return draft or "[]"


class ToolRun(models.Model):
    """One tool call from its start; the ``text`` it returned is kept until a message has it."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="tool_runs")
    call_id = fields.TextField()
    name = fields.TextField()
    text = fields.TextField(blank=True)
    is_error = models.BooleanField(default=False)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)


class Fragment(models.Model):
    """Bytes of requests that no message holds, by their SHA-256; ``data`` is compressed."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="+")
    digest = models.BinaryField(max_length=32)
    data = models.BinaryField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("conversation", "digest"), name="fragment_once"),
        )


class Manifest(models.Model):
    """The recipe for one call's request, as the difference to the ``parent`` call before."""

    call = models.OneToOneField(ModelCall, models.CASCADE, primary_key=True)
    parent = models.PositiveBigIntegerField(null=True)
    kept = models.PositiveIntegerField()  # first messages of the parent, which are sent again
    data = models.BinaryField()  # the rest, as ``chatapp.storage.request_log`` writes it
    # The bytes before the messages.
    head = models.ForeignKey(Fragment, models.DO_NOTHING, related_name="+", db_index=False)
    digest = models.BinaryField(max_length=32)  # SHA-256 of the whole body


def taken_by(attempt: Condensation, until: datetime) -> dict[str, Any]:
    """Return the cost and time of an attempt by column: alone, and with its tries."""
    both = [attempt, *attempt.tries.all()]
    whole = ModelCall.objects.filter(condensation__in=both).spent()
    reviews = Review.objects.filter(condensation__in=both, shown_at__lt=until)
    waits = [min(one.answered_at or until, until) - one.shown_at for one in reviews]
    reviewed = sum(waits, timedelta())
    worked = until - min(one.started_at for one in both) - reviewed
    return {
        **ModelCall.objects.filter(condensation=attempt).spent(),
        "total_cost": whole["cost"],
        "total_measured": whole["cost_measured"],
        "work_seconds": max(0.0, worked.total_seconds()),
        "review_seconds": reviewed.total_seconds(),
    }
