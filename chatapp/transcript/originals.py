"""Originals: what a condensation hid beside what stands for it, and the summary before."""

import difflib
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Q

from chatapp.condensation import undo
from chatapp.models import Condensation, Message
from chatapp.transcript.labels import FROM_ORIGINALS, AttemptWords, Fact, facts_of

PAGE = 30
# Sentences of a summary that are compared, and characters that are shown of one.
MAX_SENTENCES = 1_000
MAX_SENTENCE = 1_000
AROUND = 2  # sentences that are the same, on each side of what differs
_ENDS = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Original:
    """A message that was hidden, the id of its row in the chat, and the facts that are from it."""

    message: Message
    row_id: str
    facts: Sequence[Fact]


@dataclass(frozen=True)
class Compared(AttemptWords):
    """A condensation beside one page of what it stands for, in reading order.

    ``earlier`` and ``later`` are where other pages begin.
    """

    shown: Sequence[Original]
    earlier: int | None
    later: int | None


@dataclass(frozen=True, slots=True)
class Descent:
    """How many condensations deep a summary is, 0 without one, and the summary ``before`` it.

    ``lines`` tell what differs, each with its kind: "added", "removed", "same" or "place".
    """

    generation: int
    before: Condensation | None
    lines: Sequence[tuple[str, str]] = ()
    cut: bool = False


def compare(attempt: Condensation, start: int | None) -> Compared:
    """Return a condensation beside what it hid, from the message ``start`` on or from the first."""
    hidden = undo.list_hidden(condensation=attempt)
    first = hidden.filter(pk=start).first() if start is not None else None
    found, before = hidden, hidden.none()
    if first:
        place = Q(position=first.position)
        found = hidden.filter(Q(position__gt=first.position) | place & Q(seq__gte=first.seq))
        before = hidden.filter(Q(position__lt=first.position) | place & Q(seq__lt=first.seq))
    rows = list(found.select_related("condensation")[: PAGE + 1])
    earlier = list(before.reverse().values_list("pk", flat=True)[:PAGE])
    facts: defaultdict[int | None, list[Fact]] = defaultdict(list)
    for fact in facts_of(attempt.receipt):
        facts[fact.source].append(fact)
    listed = with_row_ids(rows[:PAGE])
    return Compared(
        attempt,
        [Original(message, row_id, facts[message.pk]) for message, row_id in listed],
        earlier[-1] if earlier else None,
        rows[PAGE].pk if len(rows) > PAGE else None,
    )


def with_row_ids(found: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Yield messages with their row's id; results of tools stand in the row of their calls."""
    row_id = ""
    for message in found:
        if attempt := getattr(message, "condensation", None):
            row_id = f"condensation-{attempt.pk}"
        elif not message.holds_results:
            row_id = f"message-{message.seq}"
        yield message, row_id


def read_descent(attempt: Condensation) -> Descent:
    """Return how deep a summary is, and how it differs from the newest one that it hides."""
    made = attempt.message
    if made is None or attempt.kind != Condensation.Kind.CONDENSED:
        return Descent(0, None)
    hidden = Message.objects.hid_by(made)
    behind = Condensation.objects.filter(message__in=hidden, kind=attempt.kind)
    before = behind.order_by("-message__seq").first()
    if before is None:
        return Descent(_generation(made), None)
    # Sentence by sentence, and of long summaries only the beginnings.
    old, new = _sentences(before.summary), _sentences(attempt.summary)
    lines = [*changes(old[:MAX_SENTENCES], new[:MAX_SENTENCES])]
    return Descent(_generation(made), before, lines, max(len(old), len(new)) > MAX_SENTENCES)


def _generation(made: Message) -> int:
    """Return how many summaries stand behind one another, this one included.

    One that was written again from all originals begins anew. A part that was condensed by itself
    has its summary in a marker.
    """
    there = Message.objects.filter(conversation=made.conversation_id, seq__lte=made.seq)
    summaries = there.filter(Q(condense_id__isnull=False) | Q(condensation__kind="condensed"))
    depths: dict[int, int] = {}
    # What hides a summary was written after it, so these ascend.
    seqs: list[int] = []
    names = ("seq", "hides", "condensation__strategy")
    for seq, hides, strategy in summaries.order_by("seq").values_list(*names):
        behind = (
            depths[one]
            for first, last in hides or ()
            for one in seqs[bisect_left(seqs, first) : bisect_right(seqs, last)]
        )
        from_originals = strategy == FROM_ORIGINALS
        depths[seq] = 1 if from_originals else 1 + max(behind, default=0)
        seqs.append(seq)
    return depths[made.seq]


def _sentences(text: str) -> list[str]:
    found = (one.strip() for one in _ENDS.split(text))
    return list(islice(filter(None, found), MAX_SENTENCES + 1))


def changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what differs between lines, with what stands around it; a long line is cut."""
    matcher = difflib.SequenceMatcher(None, old, new)
    for number, group in enumerate(matcher.get_grouped_opcodes(AROUND)):
        if number:
            yield "place", "…"
        for tag, first, last, start, end in group:
            kind = "same" if tag == "equal" else "removed"
            yield from ((kind, line[:MAX_SENTENCE]) for line in old[first:last])
            if tag != "equal":
                yield from (("added", line[:MAX_SENTENCE]) for line in new[start:end])
