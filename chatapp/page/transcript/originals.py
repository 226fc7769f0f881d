"""Originals: the messages behind a summary, and its differences from the summary before."""

import difflib
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import accumulate, islice

from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html, format_html_join, strip_tags
from django.utils.text import Truncator

import condense
from chatapp.condensing import undo
from chatapp.models import Condensation, Message, message_store
from chatapp.page.markdown import SENTENCES, fill_sentences, render_markdown
from chatapp.page.transcript.labels import FROM_ORIGINALS
from chatapp.page.transcript.message_parts import Part, TextPart
from chatapp.page.transcript.receipt_labels import Fact, facts_of
from chatapp.page.transcript.row_builder import SHOWN_WITH, Builder
from chatapp.page.transcript.rows import MessageRow, Row
from chatapp.project.sentences import translate as _

ORIGINALS_PER_PAGE = 30
EXCERPT_CHARS = 160  # characters
_CALLS = {"tool", "thought"}
# Sentences of a summary that are compared, and characters that are shown of one.
MAX_SENTENCES = 1_000
MAX_SENTENCE = 1_000
AROUND = 2  # equal sentences that are shown on each side of a difference
_ENDS = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Original:
    """A hidden message's row, with its tokens."""

    row: Row
    tokens: int
    keys: list[int]  # of all messages shown in it
    missing: list[Fact]  # facts that the summary does not keep as they were

    @property
    def parts(self) -> Sequence[Part]:
        """All parts of the message; a condensation has none."""
        return self.row.parts if isinstance(self.row, MessageRow) else ()

    @property
    def words(self) -> Sequence[Part]:
        """The texts and attachments."""
        return [one for one in self.parts if one.kind not in _CALLS]

    @property
    def calls(self) -> Sequence[Part]:
        """The calls and thoughts."""
        return [one for one in self.parts if one.kind in _CALLS]

    @property
    def line(self) -> str:
        """The beginning of the words in plain text, "" without any."""
        texts = [strip_tags(one.html) for one in self.words if isinstance(one, TextPart)]
        texts += [getattr(one, "name", "") for one in self.words if not isinstance(one, TextPart)]
        line = " ".join(unescape(" ".join(texts)).split())
        return Truncator(line).chars(EXCERPT_CHARS)


@dataclass(frozen=True, slots=True)
class Originals:
    """One page of hidden messages in reading order; ``left`` counts those after it.

    ``earlier`` and ``later`` are the starts of other pages.
    """

    shown: Sequence[Original]
    earlier: int | None
    later: int | None
    left: int


@dataclass(frozen=True, slots=True)
class Descent:
    """The descent of a summary."""

    generation: int  # depth in condensations, 0 without a summary
    before: Condensation | None  # the summary before it
    lines: Sequence[tuple[str, str]] = ()  # differences: "added", "removed", "same" or "place"
    cut: bool = False


def read_originals(attempt: Condensation, start: int | None = None) -> Originals:
    """Return a page of the messages that a condensation hid, from ``start`` or the first."""
    hidden = undo.list_hidden(condensation=attempt)
    keys = list(hidden.values_list("pk", "holds_results"))
    places = {pk: place for place, (pk, _results) in enumerate(keys)}
    first = places.get(start or 0, 0)
    end = first + ORIGINALS_PER_PAGE
    # Results stand in the row of their calls.
    while first and keys[first][1]:
        first -= 1
    while end < len(keys) and keys[end][1]:
        end += 1
    found = hidden.filter(pk__in=[pk for pk, _results in keys[first:end]])
    rows = list(found.select_related(*SHOWN_WITH))
    # A clearing hides results alone; people see them on the cards of their calls.
    calls = {row.seq - 1 for row in rows if row.holds_results} - {row.seq for row in rows}
    if calls:
        asked = attempt.conversation.messages.filter(seq__in=calls, role=Message.Role.ASSISTANT)
        rows += asked.select_related(*SHOWN_WITH)
        rows.sort(key=lambda row: (row.position, row.seq))
    missing = defaultdict[int | None, list[Fact]](list)
    for fact in facts_of(attempt.receipt):
        if fact.state != "kept":
            missing[fact.source].append(fact)
    shown = list[Original]()
    built = Builder(attempt.conversation, rows, [], {}, live={}).placed(is_last=False)
    by_seq = {one.row.seq: one.row for one in built}
    for message in rows:
        if row := by_seq.get(message.seq):
            shown.append(Original(row, message.tokens, [message.pk], missing[message.pk]))
        elif shown:
            shown[-1].keys.append(message.pk)
            shown[-1].missing.extend(missing[message.pk])
    return Originals(
        shown,
        earlier=keys[max(0, first - ORIGINALS_PER_PAGE)][0] if first else None,
        later=keys[end][0] if end < len(keys) else None,
        left=max(0, len(keys) - end),
    )


def render_sourced(
    attempt: Condensation, summary: str, *, proposed: Sequence[condense.Message] | None = None
) -> str:
    """Return a summary as safe HTML whose sentences link to their hidden sources.

    In a ``proposed`` one, of the messages that it would hide, only those without a source are
    marked.
    """
    record = reverse("condensation", args=[attempt.conversation_id, attempt.pk])
    sentences = list[str]()
    html = render_markdown(summary, {SENTENCES: sentences})
    rows = undo.list_hidden(condensation=attempt) if proposed is None else ()
    hidden = {str(row.pk): row for row in rows}
    text, messages = "\n".join(sentences), proposed
    if messages is None:
        messages = [*map(message_store.to_engine, hidden.values())]
    # Each is a line; a long one may be several statements.
    ends = [*accumulate([len(one) + 1 for one in sentences])]
    found = defaultdict[int, list[condense.Statement]](list)
    for statement in condense.sources_of(text, messages) if sentences else ():
        found[bisect_right(ends, statement.start)].append(statement)

    def begin(number: int) -> str:
        doubtful = any(one.unsupported for one in found[number])
        kind = "sentence is-unsupported" if doubtful else "sentence"
        return format_html('<span class="{}" id="sentence-{}-{}">', kind, attempt.pk, number)

    def mark(number: int) -> str:
        rows = [hidden[key] for one in found[number] for key in one.sources if key in hidden]
        link = '<a class="source-mark" href="{3}?from={0}#original-{0}" aria-label="{2}">{1}</a>'
        named = {row.pk: _("Source: message {seq}", seq=row.seq) for row in rows}
        of = {row.pk: (row.pk, row.seq, named[row.pk], record) for row in rows}
        marks = format_html_join("", link, of.values())
        if any(one.unsupported for one in found[number]):
            marks += format_html('<span class="unsupported">{}</span>', _("not in the originals"))
        return marks

    return fill_sentences(html, begin, mark)


def read_descent(attempt: Condensation) -> Descent:
    """Return a summary's depth, and its differences from the newest one that it hides."""
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
    """Return the number of summaries behind one another, this one included."""
    # One that was written again from all originals begins anew. A part that was condensed by itself
    # has its summary in a marker.
    there = Message.objects.filter(conversation=made.conversation_id, seq__lte=made.seq)
    summaries = there.filter(Q(condense_id__isnull=False) | Q(condensation__kind="condensed"))
    depths: dict[int, int] = {}
    # A message that hides a summary was written after it, so these ascend.
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
    """Yield the differences between lines, with the lines around; a long line is cut with "…"."""

    def cut(line: str) -> str:
        return line if len(line) <= MAX_SENTENCE else f"{line[:MAX_SENTENCE]}…"

    matcher = difflib.SequenceMatcher(None, old, new)
    for number, group in enumerate(matcher.get_grouped_opcodes(AROUND)):
        if number:
            yield "place", "…"
        for tag, first, last, start, end in group:
            kind = "same" if tag == "equal" else "removed"
            yield from ((kind, cut(line)) for line in old[first:last])
            if tag != "equal":
                yield from (("added", cut(line)) for line in new[start:end])
