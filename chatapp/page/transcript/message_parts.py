"""Parts of a message on the page: text, notes, files, and the cards of its tools."""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.text import Truncator

import condense
from chatapp.agent import annotated_blocks as blocks
from chatapp.models import Question
from chatapp.page.markdown import NAME, render_markdown
from chatapp.project.sentences import translate as _
from chatapp.tools import TOOL_SPECS
from chatapp.tools.documents import is_image
from chatapp.tools.long_outputs import kept_name
from chatapp.tools.mcp.servers import TOOL_SEPARATOR

# Characters of a file, of a call's input and of its result on the page; the rest is fetched.
SHOWN = 10_000
# Characters of a call's main argument.
LONGEST_ARGUMENT = 120
# Characters of a tool's result that are worth a summary by itself.
LONG_RESULT = 4_000
# A larger number was never counted.
LARGEST_COUNT = 2**53

RUN_COMMAND = "run_command"
_WRITTEN = re.compile(r"(?:Made|Replaced) the file; it has ([\d,]+) lines")
# Blocks with a message that are no part of its words.
UNSAID = (condense.ENVIRONMENT, condense.RECALLED, condense.FORGOTTEN)

# The arguments that say most about a call, the first present wins.
_MAIN_ARGUMENTS = ("path", "file_path", "pattern", "command", "query", "url", "question")


@dataclass(frozen=True, slots=True)
class LiveTool:
    """A call of a running turn: its output so far, its start or its duration (seconds)."""

    state: str
    text: str
    since: float | None = None
    seconds: float | None = None


LiveTools = Mapping[str, LiveTool]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file that was attached."""

    index: int  # its block's place
    name: str
    text: str  # or the first of it
    cut: bool
    size: int | None  # bytes
    pages: int | None  # of a PDF
    mentioned: bool = False  # by the words: comes and goes with them
    is_folder: bool = False  # the text is a folder's list of files
    kind: ClassVar[str] = "file"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in a message, with its pixels if they are known; ``index`` is its place."""

    index: int
    name: str
    width: int | None
    height: int | None
    mentioned: bool = False
    kind: ClassVar[str] = "image"


@dataclass(frozen=True, slots=True)
class CommandPart:
    """A command in a message, with its directive as ``text``."""

    name: str
    text: str
    kind: ClassVar[str] = "command"


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """A rule of the user's own, or a quote."""

    text: str
    seq: int = 0  # of the quoted message
    role: str = ""
    claimed: bool = False  # only an imported file says that the user set it
    kind: ClassVar[str] = "pinned"


@dataclass(frozen=True, slots=True)
class TextPart:
    """Rendered, sanitised markdown."""

    html: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class ThoughtPart:
    """A thought."""

    text: str = ""  # "" if the provider keeps it
    seconds: int | None = None  # None while it goes on, or if unknown
    since: float | None = None  # Unix seconds, while it goes on
    id: str = ""  # element of the page, while it goes on
    kind: ClassVar[str] = "thought"

    @property
    def html(self) -> str:
        """Safe HTML of the text, made when it is shown: a card is drawn without its row."""
        return render_markdown(self.text)


@dataclass(frozen=True, slots=True)
class NotePart:
    """A block with no rendering of its own, named in words."""

    label: str
    text: str = ""
    kind: ClassVar[str] = "note"


@dataclass(frozen=True, slots=True)
class HiddenBy:
    """The ``reason`` that hides something from the model, with its row's ``row_id`` and ``at``."""

    reason: str
    row_id: str  # of the row that hides it
    at: str
    words: str  # count everything hidden for the same reason


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One tool call with its result."""

    id: str
    name: str
    argument: str
    input: str
    result: str  # or the first of it
    state: str  # waiting, asked, running, done, failed, denied (by a person) or unanswered
    size: int  # characters of the result
    cut_input: bool = False
    cut_result: bool = False
    seconds: float | None = None  # None before its end, and for an imported one
    since: float | None = None  # Unix seconds, while it runs
    whole: str = ""  # name of an output that was cut in the middle
    cleared: HiddenBy | None = None  # reason that the model sees only a line of it
    asked: Question | None = None
    access: str = ""  # that a person is asked about
    kind: ClassVar[str] = "tool"

    @property
    def lines(self) -> int | None:
        """The number of lines of a file that it created, None if it created none."""
        found = _WRITTEN.match(self.result)
        return int(found[1].replace(",", "")) if found else None

    @property
    def is_long(self) -> bool:
        """True if the result is long enough that a summary of it may pay."""
        return self.state in {"done", "failed"} and self.size >= LONG_RESULT and not self.cleared


Part = (
    TextPart | ThoughtPart | NotePart | ToolCard | FilePart | ImagePart | CommandPart | PinnedPart
)


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call, the reason it was cleared, if any, and its duration in seconds."""

    result: condense.ToolResultBlock
    cleared: HiddenBy | None = None
    seconds: float | None = None


# Keyed by the ``id`` of the call's block object: some servers give the same ids in every reply.
Answers = Mapping[int, CallResult]


def parts_of(
    message: condense.Message,
    answers: Answers,
    live: LiveTools,
    asked: Mapping[int, Question],
    denied: Collection[int] = (),
    *,
    unfinished: bool = False,
) -> Iterator[Part]:
    """Yield the message's parts; tool results are shown in the cards of their calls.

    Recalled passages and surroundings are no parts. ``asked`` are the questions about calls, by the
    call's place among the message's calls; ``denied`` are the places of those that a person did not
    allow. Calls of an ``unfinished`` turn that have no answer yet wait for one.
    """
    places = itertools.count()
    for index, block in enumerate(message.blocks):
        match block:
            case condense.ToolUseBlock():
                place = next(places)
                answer, told = answers.get(id(block)), live.get(block.id)
                state = "denied" if place in denied else "waiting" if unfinished else "unanswered"
                yield _card(block, answer, told, asked.get(place), state)
            case condense.OpaqueBlock({"type": "thinking" | "redacted_thinking"} as data):
                yield _thought(data.get("thinking"), data.get(condense.BESIDE))
            case condense.OpaqueBlock(data):
                yield _note(data)
            case condense.TextBlock() if blocks.kind_of(block) in UNSAID:
                pass
            case condense.TextBlock():
                yield from _text_parts(message, index, block)
            case condense.ImageBlock():
                yield attached_part(index, block) or NotePart(_("Image"))


def _text_parts(message: condense.Message, index: int, block: condense.TextBlock) -> Iterator[Part]:
    """Yield the parts of a text: in a user's name, a program's words are apart from theirs."""
    if block.extra and (part := attached_part(index, block)):
        yield part
        return
    said, words = block.text, block.extra.get(condense.USER_WORDS)
    if isinstance(words, str) and message.role == "user" and not said.startswith(condense.PUT_BACK):
        if said.strip() and said.strip() != words.strip():
            yield NotePart(_("Added by the program"), said)
        said = words
    if said.strip():
        yield TextPart(render_markdown(said, {NAME: f"note-{message.seq}-{index}"}))


def attached_part(index: int, block: condense.Block) -> Part | None:
    """Return the part for a block, None for a person's own words and for missing images."""
    said = condense.beside_of(block)
    if isinstance(block, condense.ImageBlock) and is_image(block):
        width, height = _number(said, "width"), _number(said, "height")
        return ImagePart(index, _name(said, _("Image")), width, height, "mention" in said)
    if not isinstance(block, condense.TextBlock):
        return None
    text = blocks.text_of(block)
    match said.get("kind"):
        case blocks.RULE | blocks.QUOTE:
            seq, role = _number(said, "seq") or 0, str(said.get("role") or "")
            return PinnedPart(text, seq, role, blocks.is_claimed(block))
        case blocks.COMMAND:
            return CommandPart(_name(said, _("Command")), text)
        case blocks.FILE:
            mention = said.get("mention")
            return FilePart(
                index=index,
                name=_name(said, _("File")),
                text=text[:SHOWN],
                cut=len(text) > SHOWN,
                size=_number(said, "size"),
                pages=_number(said, "pages"),
                mentioned=mention is not None,
                is_folder=mention == "folder",
            )
    return None


def _name(said: Mapping[str, Any], default: str) -> str:
    name = said.get("name")
    return condense.upright(name) if isinstance(name, str) and name.strip() else default


def _number(said: Mapping[str, Any], name: str) -> int | None:
    value = said.get(name)
    return value if type(value) is int and 0 < value <= LARGEST_COUNT else None


def unfinished_parts(draft: str) -> Iterator[Part]:
    """Yield the parts of a reply that broke off, in its order."""
    for block in json.loads(draft):
        match block:
            case {"type": "text", "text": str(text)} if text.strip():
                yield TextPart(render_markdown(text))
            case {"type": "thinking", "text": text}:
                yield _thought(text, block)
            case {"type": "tool_use", "name": str(name), "text": str(text)}:
                words = _("The model was still writing a call of {tool}. It never ran.", tool=name)
                yield NotePart(words, text)


def _thought(text: object, said: object) -> ThoughtPart:
    """Return a thought; ``said``, a mark on its block or a draft, has its duration."""
    seconds = _number(said, "seconds") if isinstance(said, Mapping) else None
    return ThoughtPart(text.strip() if isinstance(text, str) else "", seconds)


def _note(data: Mapping[str, Any]) -> NotePart:
    match data:
        case {"type": "compaction", "content": str(text)}:
            return NotePart(_("Summary, signed by the provider"), text)
        case {"type": str(name)}:
            return NotePart(name.replace("_", " ").capitalize())
    return NotePart(_("Unknown content"))


def _card(
    call: condense.ToolUseBlock,
    answer: CallResult | None,
    live: LiveTool | None,
    asked: Question | None,
    state: str,
) -> ToolCard:
    """Return a call's card, in this state unless it has a result.

    A stored result goes before the live one.
    """
    text, seconds, since = "", None, None
    is_denied = state == "denied"
    if live:
        text, state, since, seconds = live.text, live.state, live.since, live.seconds
    if answer:
        text, state = result_text(answer.result), "failed" if answer.result.is_error else "done"
        seconds = answer.seconds if seconds is None else seconds
    written = input_text(call) if call.input else ""
    spec = TOOL_SPECS.get(call.name)
    # The long results of commands and of MCP servers are kept whole.
    may_be_kept = call.name == RUN_COMMAND or TOOL_SEPARATOR in call.name
    return ToolCard(
        id=call.id,
        name=condense.upright(call.name),
        argument=main_argument(call.input),
        input=written[:SHOWN],
        result=text[:SHOWN],
        state="denied" if is_denied else "asked" if asked else state,
        size=len(text),
        cut_input=len(written) > SHOWN,
        cut_result=len(text) > SHOWN,
        seconds=seconds,
        since=since,
        whole=kept_name(text) if may_be_kept else "",
        cleared=answer.cleared if answer else None,
        asked=asked,
        access=spec.access if spec else "",
    )


def input_text(call: condense.ToolUseBlock) -> str:
    """Return a call's arguments as people read them."""
    return condense.with_unseen(json.dumps(call.input, indent=2, ensure_ascii=False))


def result_text(result: condense.ToolResultBlock) -> str:
    """Return the text of a tool's answer; an image is named."""
    if result.content is None or isinstance(result.content, str):
        return result.content or ""
    return "\n".join(
        block.text if isinstance(block, condense.TextBlock) else f"[{_('Image')}]"
        for block in result.content
    )


def main_argument(arguments: Any) -> str:
    """Return the one argument that says most about a call, on one line."""
    if not isinstance(arguments, dict):
        return ""
    named = [arguments[name] for name in _MAIN_ARGUMENTS if name in arguments]
    texts = [value for value in (*named, *arguments.values()) if isinstance(value, str)]
    line = Truncator(" ".join(texts[0].split())).chars(LONGEST_ARGUMENT) if texts else ""
    return condense.upright(line)
