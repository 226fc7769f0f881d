"""Parts of a summary or a marker: the text that replaces hidden messages, for people."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import condense
from chatapp.models import Condensation, message_store
from chatapp.page.markdown import render_markdown
from chatapp.project.sentences import in_a_row
from chatapp.project.sentences import translate as _

# A section as prompts ask for it: its number, its title, and a sign that it is empty.
_SECTION = re.compile(
    r"^ {0,3}(\d{1,2})[.)] +\**([^:*\n]{2,80})\**:\**"
    r"(\s*(?:[-*]+ ?)?none[.*]*(?=\s*(?:\Z|\n {0,3}\d)))?",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """One part: prose as safe ``html``, or ``items`` of a list in plain text; ``pins`` or none."""

    label: str
    html: str = ""
    items: Sequence[str] = ()
    pins: int = 0


def summary_parts(
    attempt: Condensation, render: Callable[[str], str] = render_markdown
) -> list[SummaryPart]:
    """Return the parts of an attempt's summary and message, in the model's reading order."""
    message = message_store.to_engine(attempt.message) if attempt.message else None
    return parts_of(attempt.summary, message, attempt.read_folded(), render)


def parts_of(
    summary: str,
    message: condense.Message | None,
    folded: condense.Folded | None,
    render: Callable[[str], str] = render_markdown,
) -> list[SummaryPart]:
    """Return the parts of a summary, and of the other blocks of its message."""
    blocks = message.blocks if message else ()
    texts = [one.text for one in blocks if isinstance(one, condense.TextBlock)]
    if condense.part_kind(summary) is condense.PartKind.LEDGER:
        texts, found = texts or [summary], []
    else:
        found = [SummaryPart(_("Summary"), _by_section(summary, render))] if summary else []
    for text in texts:
        parts = [*condense.split_parts(text)]
        for kind, part in parts or ((condense.part_kind(text), text),):
            found += _read(kind, part, summary)
    files = [one.path for one in folded.files] if folded else []
    return [*found, SummaryPart(_("Files, as signatures"), items=files)] if files else found


def _by_section(summary: str, render: Callable[[str], str] = render_markdown) -> str:
    """Return a summary as safe HTML, its numbered sections under headings, empty ones in a line."""
    titles, empty = [0], list[str]()

    def heading(found: re.Match[str]) -> str:
        # A list inside a section begins with 1 again.
        if (number := int(found[1])) <= titles[-1]:
            return found[0]
        titles.append(number)
        if found[3] is not None:
            empty.append(found[2])
        return "" if found[3] is not None else f"\n### {found[2]}\n\n"

    html = render(_SECTION.sub(heading, summary))
    if empty:
        html += render_markdown(_("Nothing on: {titles}", titles=in_a_row(empty)))
    return html


def _read(kind: condense.PartKind | None, text: str, summary: str) -> Iterator[SummaryPart]:
    heading, _line, rest = text.partition("\n")
    match kind:
        case condense.PartKind.LEDGER if heading.startswith("## Ledger ~"):
            # An older ledger was Markdown, under its own headings.
            for section in text.split(f"\n{heading.removeprefix('## Ledger ')} ")[1:]:
                title, *lines = section.split("\n")
                if facts := [line for line in lines if line]:
                    yield SummaryPart(title.capitalize(), items=facts)
        case condense.PartKind.LEDGER if ledger := condense.parse_ledger(text):
            yield from filter(lambda one: one.html or one.items, _lists(ledger))
        case condense.PartKind.SUMMARY if heading.startswith("## Part") and rest not in summary:
            yield SummaryPart(_("Earlier summary"), _by_section(rest))
        case condense.PartKind.REQUEST:
            yield SummaryPart(_("Your request, word for word"), items=[rest])
        case condense.PartKind.PINS:
            yield SummaryPart(_("Pinned"), items=[rest], pins=1)
        case condense.PartKind.WORKFLOWS:
            yield SummaryPart(_("Commands in force"), items=[text])


def _lists(ledger: condense.Ledger) -> Iterator[SummaryPart]:
    """Yield the facts of a ledger by kind."""
    said = [f"{one.to} → {one.text}" if one.to else one.text for one in ledger.requests]
    yield SummaryPart(_("Rules you set"), items=ledger.rules)
    yield SummaryPart(_("Your words"), items=said)
    done = [_("{count:,} done", count=ledger.done)] if ledger.done else []
    yield SummaryPart(_("To do"), items=[*(one.text for one in ledger.todos), *done])
    for label, edited in ((_("Edited files"), True), (_("Files read"), False)):
        yield SummaryPart(label, items=[one.path for one in ledger.files if one.edited is edited])
    runs = [
        _("{run} ({times:,} times)", run=one.head, times=one.times) if one.times > 1 else one.head
        for one in ledger.runs
    ]
    yield SummaryPart(_("Commands"), items=runs)
    failures = [f"{one.subject}: {one.message}" for one in ledger.failures]
    yield SummaryPart(_("Errors"), items=failures)
    yield SummaryPart(_("Numbers and names"), items=[in_a_row(ledger.names)] * bool(ledger.names))
    yield SummaryPart(_("Latest answer"), render_markdown(ledger.last_reply))
