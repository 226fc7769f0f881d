"""Questions to a person, reviews of summaries, and checkpoints of files before tools run.

A person is asked for permission to run a tool, or for an answer to the model. A question ends by a
person's hand only: it is answered, or the turn that asks is stopped.
"""

import uuid
from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

import condense
from chatapp.models import fields
from chatapp.models.audit import AuditEntry, Recorded, RecordedQuerySet
from chatapp.models.condensations import Condensation
from chatapp.models.turns import Turn


class Checkpoint(models.Model):
    """A snapshot of the workspace, taken before the calls of message ``seq`` changed it.

    ``name`` is its name in the folder's own repository.
    """

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="checkpoints")
    seq = models.PositiveIntegerField()
    name = models.CharField(max_length=64)
    taken_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("turn", "seq"), name="checkpoint_of_reply"),)


class QuestionQuerySet(RecordedQuerySet["Question"]):
    """Questions by state and place."""

    def pending(self) -> Self:
        """Return questions that a turn waits for."""
        return self.filter(status=Question.Status.PENDING, turn__finished_at=None)

    def answers_to(self, turn: Turn, seq: int) -> dict[int, str]:
        """Return a person's words on the calls of a message, by the calls' places."""
        statuses = [Question.Status.DENIED, Question.Status.ANSWERED]
        said = self.filter(turn=turn, seq=seq, status__in=statuses).exclude(answer="")
        return dict(said.values_list("place", "answer"))


class Question(Recorded):
    """A question about the call at ``place`` (from 0) of message ``seq``; there is one at most."""

    KIND = AuditEntry.Kind.QUESTION
    AUDITED_IN = "turn__conversation_id"
    FACTS = ("kind", "status", "tool", "seq", "place", "asked_at", "answered_at")
    CONTENTS = ("text", "shown", "suggestions", "answer")

    class Kind(models.TextChoices):
        """The subject of a question."""

        PERMISSION = "permission", _("whether a tool may run")
        ANSWER = "answer", _("what the model wants to know")

    class Status(models.TextChoices):
        """The state or result of a question."""

        PENDING = "pending", _("waiting")
        ALLOWED = "allowed", _("allowed")
        DENIED = "denied", _("denied")
        ANSWERED = "answered", _("answered")
        WITHDRAWN = "withdrawn", _("withdrawn")

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="questions")
    seq = models.PositiveIntegerField()
    place = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    tool = fields.TextField()
    text = fields.TextField(blank=True)  # empty for a permission
    shown = fields.TextField(blank=True)  # the change, for a permission
    suggestions = fields.JSONField(default=list)  # answers to a question's text
    answer = fields.TextField(blank=True)  # or the reason of a refusal
    asked_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True)

    objects = QuestionQuerySet.as_manager()
    # A question waits for a person for any time.
    applies_at: datetime | None = None

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("turn", "seq", "place"), name="question_of_call"),
        )

    @property
    def wants_words(self) -> bool:
        """True if the question needs an answer in words."""
        return self.kind == Question.Kind.ANSWER


class ReviewQuerySet(RecordedQuerySet["Review"]):
    """Reviews by state."""

    def pending(self) -> Self:
        """Return reviews that a turn waits for."""
        runs = Q(condensation__turn__isnull=False, condensation__turn__finished_at=None)
        return self.filter(runs, status=Review.Status.PENDING)

    def withdraw(self, attempt_id: uuid.UUID) -> None:
        """Close the review of an attempt that was taken back."""
        self.filter(condensation=attempt_id, status=Review.Status.PENDING).change(
            status=Review.Status.WITHDRAWN, answered_at=timezone.now()
        )


class Review(fields.Speaking, Recorded):
    """A draft that an attempt wrote first, second … (``ordinal``), and a person's answer to it."""

    KIND = AuditEntry.Kind.REVIEW
    AUDITED_IN = "condensation__conversation_id"
    FACTS = (
        "condensation_id", "ordinal", "status", "answered_by_id", "shown_at", "applies_at",
        "answered_at",
    )  # fmt: skip
    CONTENTS = ("shown", "text", "focus")
    CHANGING = ("applies_at",)
    SAID = frozenset({"proposal"})

    class Status(models.TextChoices):
        """The state or result of a review."""

        PENDING = "pending", _("waiting")
        ACCEPTED = "accepted", _("accepted")
        EDITED = "edited", _("changed and accepted")
        AGAIN = "again", _("written again")
        USED = "used", _("refused by a rule, used all the same")
        DISCARDED = "discarded", _("discarded")
        EXPIRED = "expired", _("applied when its time was over")
        WITHDRAWN = "withdrawn", _("withdrawn")

    condensation = models.ForeignKey(Condensation, models.CASCADE, related_name="reviews")
    ordinal = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    shown = fields.TextField(blank=True)
    text = fields.TextField(blank=True)  # their replacement for the shown text
    focus = fields.TextField(blank=True)  # what the next draft is to keep, if it is written again
    proposal = fields.JSONField(default=dict)  # all that the engine needs to go on
    typed = fields.JSONField(null=True)  # last seen ``summary`` and ``focus`` before an answer
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    shown_at = models.DateTimeField(default=timezone.now)
    applies_at = models.DateTimeField(null=True)  # if there is no answer by then
    answered_at = models.DateTimeField(null=True)

    objects = ReviewQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("condensation", "ordinal"), name="review_ordinal"),
        )

    def read_proposal(self) -> condense.Proposal:
        """Return the proposal, as the engine knows it."""
        return condense.Proposal.from_json(self.proposal)
