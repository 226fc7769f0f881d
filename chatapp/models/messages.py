"""Messages: their contents, their places and tags, and the model's view of them.

A message is never edited or deleted. Its tags name the summaries, markers and rewinds that hide it;
``hidden`` is derived from them (see ``MessageQuerySet.refresh_hidden``), so that reading the
effective history costs the same however much is stored.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, Self, override

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatapp.models import fields, message_index
from chatapp.models.conversations import Conversation
from chatapp.models.meanings import delete_vectors

_MADE_BY_ENGINE = (
    Q(condense_id__isnull=False) | Q(truncation_id__isnull=False) | Q(clear_id__isnull=False)
)


# The reasons of a cut answer: the model's own limits, and the agent's notes on a broken call.
# An answer that the model declined to go on with is cut, too.
_CONTINUABLE = frozenset(
    {"max_tokens", "model_context_window_exceeded", "stopped", "error", "interrupted"}
)
_CUT = _CONTINUABLE | {"declined"}


# A condition with more parts is too deep for a database.
MOST_RUNS = 200

# A position in reading order, and the number of the message there; and a position behind all.
Cursor = tuple[int, int]
END = 2_147_483_647
_PLACE = ("conversation", "position", "seq")
# Columns for the sums of a long history, so that no row is read for them.
_SUMMED = (
    *(*_PLACE, "tokens", "results", "holds_results"),
    *("condense_id", "truncation_id", "clear_id", "hidden"),
)


class MessageQuerySet(models.QuerySet["Message"]):
    """Messages by kind, place and visibility."""

    @override
    def bulk_create(self, *args: Any, **options: Any) -> "list[Message]":
        """Store messages, and index them."""
        made = super().bulk_create(*args, **options)
        message_index.add(made)
        return made

    @override
    def update(self, **columns: Any) -> int:
        """Change messages; index them again if their contents change."""
        said = [*self.values_list("pk", flat=True)] if "content" in columns else []
        changed = super().update(**columns)
        if said:
            message_index.add(Message.objects.filter(pk__in=said))
            delete_vectors(said)
        return changed

    def in_reading_order(self) -> Self:
        """Return messages as they are read: a summary follows the last message it hides."""
        return self.order_by("position", "seq")

    def effective(self) -> Self:
        """Return the messages that the model sees, in reading order."""
        return self.filter(hidden=False).in_reading_order()

    def span(self, lower: Cursor | None = None, upper: Cursor | None = None) -> Self:
        """Return the messages from one place on and before another."""
        (first, seq), (last, end) = lower or (0, 0), upper or (END, 0)
        found = self.filter(position__range=(first, last))
        return found.exclude(position=first, seq__lt=seq).exclude(position=last, seq__gte=end)

    def in_force(self) -> Self:
        """Leave out messages that were undone or rewound."""
        return self.filter(undone=False, rewind_parent=None)

    def newest(self) -> "Message | None":
        """Return the message that was written last, None without any."""
        return self.order_by("-seq").first()

    def questions(self) -> Self:
        """Return the user's messages, without those that only hold results."""
        return self.written().filter(role=Message.Role.USER, holds_results=False)

    def hid_by(self, made: "Message") -> Self:
        """Return the messages that a summary or marker hid or cleared, in force or not."""
        there, runs = self.filter(conversation=made.conversation_id), sorted(made.hides or ())
        if len(runs) > MOST_RUNS:
            return there.filter(seq__in=_within(runs, there.values_list("seq", flat=True)))
        found = Q(pk=None)
        for first, last in runs:
            found |= Q(seq__range=(first, last))
        return there.filter(found)

    def made_by_engine(self) -> Self:
        """Return summaries and markers."""
        return self.filter(_MADE_BY_ENGINE)

    def written(self) -> Self:
        """Return the messages of the user, the model and tools."""
        return self.exclude(_MADE_BY_ENGINE)

    def forgotten_passages(self) -> list[str]:
        """Return the passages of these messages that the model does not read."""
        texts = self.filter(forgotten__isnull=False).values_list("forgotten", flat=True)
        return [one for several in texts for one in several or ()]

    def said(self) -> Self:
        """Leave out rules and passages that were pinned: they are no part of the talk."""
        return self.exclude(pin__isnull=False, role=Message.Role.USER, turn=None)

    def count_seen(self) -> dict[str, int]:
        """Count these messages as people see them, in the columns of ``Hiding``.

        A message that only holds results is none of its own: its results are on the cards of the
        calls. Summaries and markers are condensations.
        """
        return self.aggregate(
            messages_hidden=models.Count("pk", filter=~_MADE_BY_ENGINE & Q(holds_results=False)),
            results_hidden=Coalesce(models.Sum("results", filter=~_MADE_BY_ENGINE), 0),
            condensations_hidden=models.Count("pk", filter=_MADE_BY_ENGINE & Q(undone=False)),
        )

    def stop_sending_thinking(self) -> int:
        """Mark thinking in these messages ``unbound``; return the number of changed messages."""
        text = models.functions.Cast("content", models.TextField())
        thinking = self.annotate(text=text).filter(text__contains='thinking"', unbound=None)
        return thinking.update(unbound=True)

    def refresh_hidden(self) -> int:
        """Derive ``hidden`` from the tags of these messages and of the rows they name."""
        return self.update(hidden=_is_hidden())

    def with_condensed(self) -> Self:
        """Add ``condensed``: True if a summary, or a condensed part's marker, stands for it."""
        part = _stands_for("truncation_id", "truncation_parent", condensation__kind="condensed")
        return self.annotate(condensed=_stands_for("condense_id", "condense_parent") | part)

    def shown_by_tags(self) -> Self:
        """Return the messages that are visible by their tags; ``hidden`` may be outdated."""
        return self.exclude(_is_hidden())


def _is_hidden() -> Q:
    """Return the condition that a message's tags hide it.

    A parent hides only while the summary or marker it names is in force.
    """
    condensed = _stands_for("condense_id", "condense_parent")
    truncated = _stands_for("truncation_id", "truncation_parent")
    return Q(undone=True) | Q(rewind_parent__isnull=False) | condensed | truncated


def _stands_for(name: str, parent: str, **record: str) -> Exists:
    """Return the condition that the row which a message's tag names is in force."""
    same = Message.objects.in_force().filter(conversation=OuterRef("conversation"), **record)
    return Exists(same.filter(**{name: OuterRef(parent)}))


def _within(runs: Sequence[Sequence[int]], seqs: Iterable[int]) -> list[int]:
    """Return the numbers that lie in one of these ascending runs."""
    places = ((seq, bisect_right(runs, seq, key=itemgetter(0)) - 1) for seq in seqs)
    return [seq for seq, place in places if place >= 0 and seq <= runs[place][1]]


class Message(models.Model):
    """One message: its content in the Messages API's shape, its place, and its tags."""

    class Role(models.TextChoices):
        """The two roles of the Messages API."""

        USER = "user"
        ASSISTANT = "assistant"

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages")
    turn = models.ForeignKey("Turn", models.SET_NULL, null=True, related_name="messages")
    seq = models.PositiveIntegerField()  # order of writing within the conversation
    position = models.PositiveIntegerField()  # place in reading order
    role = models.CharField(max_length=9, choices=Role)
    content = fields.JSONField()
    tokens = models.PositiveIntegerField()  # estimate of its own size
    results = models.PositiveIntegerField(default=0)  # number of tool results in it
    holds_results = models.BooleanField(default=False)  # nothing else, so it has no row
    stop_reason = fields.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    hidden = models.BooleanField(default=False)  # derived from tags
    condense_id = models.UUIDField(null=True)
    condense_parent = models.UUIDField(null=True)
    truncation_id = models.UUIDField(null=True)
    truncation_parent = models.UUIDField(null=True)
    clear_id = models.UUIDField(null=True)
    cleared = fields.JSONField(default=dict)  # of a marker: the line for each cleared tool result
    hides = fields.JSONField(null=True)  # first and last of each run that it hid or cleared
    rewind_parent = models.UUIDField(null=True)
    undone = models.BooleanField(default=False)
    # Null stands for no: a default would have the table, and its triggers, made anew.
    unbound = models.BooleanField(null=True)  # thinking in it is not sent any more
    pinned = models.BooleanField(null=True)  # the model keeps it word for word
    claimed = models.BooleanField(null=True)  # its rules are a file's, and nobody has adopted them
    # Passages that the model does not read: [] for a request to forget, and once that is rewound.
    forgotten = fields.JSONField(null=True)

    objects = MessageQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("conversation", "seq"), name="message_seq"),)
        indexes = (
            models.Index(fields=_PLACE, name="message_reading"),
            models.Index(fields=_SUMMED, condition=Q(hidden=False), name="message_visible"),
            models.Index(fields=_PLACE, condition=_MADE_BY_ENGINE, name="message_made"),
            *(
                models.Index(
                    fields=("conversation", name),
                    condition=Q(**{f"{name}__isnull": False}),
                    name=f"message_{name}",
                )
                # No index by the two parents: only undoing asks for them, and every condensation
                # would write an entry for each message it hides.
                for name in ("condense_id", "truncation_id", "clear_id", "rewind_parent")
            ),
            models.Index(fields=("conversation",), condition=Q(claimed=True), name="message_claim"),
            models.Index(
                fields=("conversation", "seq"),
                condition=Q(forgotten__isnull=False),
                name="message_forgotten",
            ),
        )

    @override
    def save(self, *args: Any, **options: Any) -> None:
        """Store and index it."""
        super().save(*args, **options)
        message_index.add([self])

    def hid(self, other: "Message") -> bool:
        """Return True if this summary or marker hid or cleared another message, in force or not."""
        return any(first <= other.seq <= last for first, last in self.hides or ())

    @property
    def is_cut(self) -> bool:
        """True if this is an answer that ended before the model was done."""
        return self.stop_reason in _CUT

    @property
    def is_continuable(self) -> bool:
        """True if the model can go on with this answer, and read its beginning."""
        return self.stop_reason in _CONTINUABLE and bool(self.content)

    @property
    def asks_to_continue(self) -> bool:
        """True if this only asks the model to go on with an answer that was cut."""
        by_user = self.role == Message.Role.USER and not self.holds_results
        return by_user and self.turn is not None and self.turn.origin == "continued"

    @property
    def is_summary(self) -> bool:
        """True if this is a condensation's summary."""
        return self.condense_id is not None

    @property
    def is_marker(self) -> bool:
        """True if this is a truncation's or a clearing's marker."""
        return self.truncation_id is not None or self.clear_id is not None
