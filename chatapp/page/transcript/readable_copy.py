"""Copies of a conversation to be read, as Markdown or as one self-contained HTML page.

Hidden messages are in them, and the places of condensations; rewound messages are not, nor the
server's own notes to the model, nor its thoughts.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from itertools import groupby
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.csp import CSP
from django.utils.functional import Promise
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _lazy
from markdown_it import MarkdownIt
from markdown_it.token import Token

import condense
from chatapp.agent.annotated_blocks import FILE, QUOTE, RULE, kind_of, text_of
from chatapp.models import Condensation, Conversation, Message, message_store
from chatapp.page.markdown import NAME, render_markdown
from chatapp.page.transcript import message_parts
from chatapp.page.transcript.labels import AttemptWords
from chatapp.page.transcript.rows import RecalledPart, recalled_part
from chatapp.project.languages import background
from chatapp.project.sentences import translate as _
from chatapp.tools import TOOL_SPECS
from chatapp.tools.documents import bytes_of

# The names of parts that stand apart from the words and have no name of their own.
_CALLED: dict[str, Promise] = {
    FILE: _lazy("File"),
    RULE: _lazy("Your rule"),
    QUOTE: _lazy("Passage"),
}

_OPENING = re.compile("`{3}|~{3}|<")
# Ends of HTML that would go on to the end of a file, whatever stands there.
_ENDS, _HEADING = ("-->", "?>", "]]>"), "heading_close"

_SHEETS = ("variables.css", "prose.css", "code.css")


@dataclass(slots=True)
class MessagePart:
    """A piece of a message."""

    kind: str  # "text", "file", "image" or "tool"
    text: str = ""  # a tool's is its input
    name: str = ""  # of a text: that of its footnotes
    data: str = ""  # an image's data URL
    result: str = ""  # of a tool, if that is to be read
    failed: bool = False

    @property
    def html(self) -> str:
        """The text as safe HTML."""
        return render_markdown(self.text, {NAME: self.name})


@dataclass(slots=True)
class CopyEntry:
    """A message, or a condensation.

    A recalled passage has its entry's ``seq`` or 0, and no text where that entry leaves some out.
    """

    role: str
    seq: int
    at: datetime
    parts: list[MessagePart] = field(default_factory=list)
    attempt: Condensation | None = None  # of a condensation
    recalled: RecalledPart | None = None
    shows_cost: bool = False  # it is a copy for its owner

    @property
    def label(self) -> str:
        """The author of the entry, or the event."""
        if self.role == "made":
            is_cut = self.attempt and self.attempt.kind == Condensation.Kind.TRUNCATED
            return _("Context truncated") if is_cut else _("Context condensed")
        return _("You") if self.role == "user" else _("Agent")

    @property
    def runs(self) -> list[tuple[str, list[MessagePart]]]:
        """The parts in order; several calls in a row are one part with a heading."""
        runs = []
        for is_tool, found in groupby(self.parts, key=lambda part: part.kind == "tool"):
            parts = list(found)
            runs.append((_tally(parts) if is_tool and len(parts) > 1 else "", parts))
        return runs

    @property
    def original(self) -> str:
        """The event in English, as it is on record; "" if that is the label."""
        label = self.label
        with background():
            return self.label if self.role == "made" and self.label != label else ""

    @property
    def figures(self) -> str:
        """The sizes, cost and cause of a condensation."""
        if not (self.attempt and self.shows_cost):
            return ""
        context = {"attempt": self.attempt, "how": AttemptWords(self.attempt).how}
        return render_to_string("readable_copy/figures.txt", context).strip()

    @property
    def explanation(self) -> str:
        """The sentence on a condensation for the reader, "" if nothing was hidden."""
        count = self.attempt.messages_hidden if self.attempt else 0
        said = _(
            "The model no longer reads {count:,} message above. You still can.",
            "The model no longer reads {count:,} messages above. You still can.",
            count=count,
        )
        return said if count else ""


def _tally(calls: list[MessagePart]) -> str:
    """Return the work of calls in a line: "Read 6 files · Searched once"."""
    counted = Counter(call.name.partition(" ")[0] for call in calls)
    tallies = {name: one.tally for name, one in TOOL_SPECS.items() if one.tally}
    other = ("{count} \N{MULTIPLICATION SIGN} {name}",)
    said = (_(*tallies.get(one, other), count=count, name=one) for one, count in counted.items())
    return " · ".join(said)


def read_entries(
    conversation: Conversation, *, until: int | None = None, tools: bool = True
) -> list[CopyEntry]:
    """Return a conversation's entries in reading order, up to the message ``until`` if given.

    Without ``tools`` the entries name the called tools only, and of the texts that replace hidden
    messages they hold only those that a model wrote.
    """
    rows = conversation.messages.in_force().in_reading_order().select_related("condensation")
    if until is not None:
        rows = rows.filter(seq__lte=until)
    untold: tuple[type, ...] = (condense.OpaqueBlock,)
    if not tools:
        untold += (condense.ToolUseBlock, condense.ToolResultBlock)
    calls: dict[str, MessagePart] = {}
    entries: list[CopyEntry] = []
    # By a message's number: the number of the entry with it, and True if that has all of it.
    told: dict[int, tuple[int, bool]] = {}
    for row in rows.iterator(chunk_size=500):
        message = message_store.to_engine(row)
        entry = _entry(row, message, calls, tools=tools)
        if (recalled := recalled_part(message)) and not recalled.forgets:
            passages = []
            for one in recalled.passages:
                place, is_whole = told.get(one.seq, (0, False))
                passages.append(replace(one, seq=place, text=one.text if is_whole else ""))
            entry.recalled = replace(recalled, passages=passages)
        entry.shows_cost = until is None
        only_tools = all(part.kind == "tool" for part in entry.parts)
        if only_tools and entry.parts and entries and entries[-1].role == entry.role:
            entries[-1].parts += entry.parts
        elif entry.parts or entry.attempt:
            entries.append(entry)
        is_whole = not any(isinstance(block, untold) for block in message.blocks)
        told[row.seq] = (entries[-1].seq if entries else 0, is_whole)
    return entries


def _entry(
    row: Message, message: condense.Message, calls: dict[str, MessagePart], *, tools: bool
) -> CopyEntry:
    """Return the entry of a message; its results go to the calls that they answer."""
    if row.is_summary or row.is_marker:
        attempt = getattr(row, "condensation", None)
        said = (attempt.summary if attempt else "") or message.text
        if not tools and not (attempt and attempt.prompt):
            # A summary by rule is a list of tool inputs: files and commands.
            said = ""
        parts = [MessagePart("text", said)] if said else []
        return CopyEntry("made", row.seq, row.created_at, parts, attempt)
    for result in message.tool_results:
        if call := calls.pop(result.tool_use_id, None):
            call.result = message_parts.result_text(result) if tools else ""
            call.failed = result.is_error
    parts = [part for block in message.blocks if (part := _part(block, tools=tools))]
    for index, part in enumerate(parts):
        part.name = part.name or f"note-{row.seq}-{index}"
    tools_used = (part for part in parts if part.kind == "tool")
    calls |= {use.id: part for use, part in zip(message.tool_uses, tools_used, strict=True)}
    return CopyEntry(row.role, row.seq, row.created_at, parts)


def _part(block: condense.Block, *, tools: bool) -> MessagePart | None:
    name = str(condense.beside_of(block).get("name", ""))
    match block:
        case condense.TextBlock(text) if kind_of(block) in message_parts.UNSAID or not text.strip():
            return None
        case condense.TextBlock() if called := _CALLED.get(kind_of(block)):
            return MessagePart("file", text_of(block), name or str(called))
        case condense.TextBlock(text):
            return MessagePart("text", text)
        case condense.ImageBlock():
            # A browser shows it by its data; one that lies elsewhere has none.
            found = bytes_of(block)
            data = f"data:{found[0]};base64,{base64.b64encode(found[1]).decode()}" if found else ""
            return MessagePart("image", name=name or _("Image"), data=data)
        case condense.ToolUseBlock(name=tool):
            argument = message_parts.main_argument(block.input) if tools else ""
            given = message_parts.input_text(block) if tools else ""
            return MessagePart("tool", given, f"{tool} {argument}".strip())
    return None


def write_markdown(conversation: Conversation) -> Iterator[str]:
    """Yield a conversation as Markdown."""
    yield f"# {_one_line(str(conversation))}\n"
    for entry in read_entries(conversation):
        label = f"{entry.label} ({entry.original})" if entry.original else entry.label
        yield f"\n## {label}, {entry.at:%Y-%m-%d %H:%M} UTC\n"
        if figures := entry.figures:
            yield f"\n*{figures}*\n"
        for part in entry.parts:
            yield f"\n{_in_markdown(part)}\n"
        if entry.recalled:
            yield f"\n*{entry.recalled.label}*\n"
            for one in entry.recalled.passages:
                text = f"\n\n{_fenced(one.text)}" if one.text else ""
                yield f"\n{one.label}{text}\n"


def _in_markdown(part: MessagePart) -> str:
    name = _one_line(part.name)
    match part.kind:
        case "image":
            return f"*[{name}]*"
        case "file":
            return f"*{name}*\n\n{_fenced(part.text)}"
        case "tool":
            answered = f"\n\n{_fenced(part.result)}" if part.result else ""
            return f"**{name}**\n\n{_fenced(part.text)}{answered}"
    return _closed(part.text)


@cache
def _blocks() -> MarkdownIt:
    return MarkdownIt("commonmark").disable(["inline", "reference"])


def _closed(text: str) -> str:
    """Return Markdown with its last block closed, apart from the next entry."""
    if not _OPENING.search(text):
        return text
    last = _last_block(text)
    named = re.match(r"\W*(\w*)", last.content)
    ends = (last.markup, f"</{named and named[1]}>", *_ENDS)
    closed = (f"{text}\n{one}" for one in ends if last.type != _HEADING)
    return next((one for one in closed if _last_block(one).type == _HEADING), text)


def _last_block(text: str) -> Token:
    """Return the token that ends a text with a heading behind it, or the block that has both."""
    return _blocks().parse(f"{text}\n\n#")[-1]


def _one_line(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def _fenced(text: str) -> str:
    """Return text in a fence that nothing in it can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def write_html(conversation: Conversation, *, until: int | None = None, tools: bool = True) -> str:
    """Return the page up to the message ``until`` if given, with or without ``tools``."""
    return write_page(str(conversation), read_entries(conversation, until=until, tools=tools))


def write_page(title: str, entries: Iterable[CopyEntry] = ()) -> str:
    """Return a page; without entries its title is the reason for that."""
    context = {
        "title": title,
        "entries": entries,
        # They are the page's own, and nothing that anybody has said.
        "style": mark_safe(f"<style>{_style()}</style>"),  # noqa: S308 - our own sheets
        "script": mark_safe(f"<script>{_script()}</script>"),  # noqa: S308 - our own script
        "policy": "; ".join(f"{name} {' '.join(of)}" for name, of in policy().items()),
    }
    return render_to_string("readable_copy/copy.html", context)


def policy() -> dict[str, list[str]]:
    """Return the page's content policy: its own style, script and images, and nothing else."""
    return {
        "default-src": [CSP.NONE],
        "style-src": [_source(_style())],
        "script-src": [_source(_script())],
        "img-src": ["data:"],
    }


def _source(text: str) -> str:
    """Return the CSP source that allows this very text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _script() -> str:
    return render_to_string("readable_copy/copy.js")


@cache
def _style() -> str:
    folder = Path(settings.BASE_DIR) / "static" / "css"
    sheets = [(folder / name).read_text("utf-8") for name in _SHEETS]
    return "\n".join([*sheets, render_to_string("readable_copy/copy.css")])
