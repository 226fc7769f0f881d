"""What a message consists of on the page: text, notes, files, and the cards of its tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.utils.translation import gettext as _

import condense
from chatapp.agent.annotated_blocks import COMMAND, is_claimed, is_file, stands_for, text_of
from chatapp.tools.documents import is_image

# Characters of a file on the page; the rest is fetched on request.
SHOWN = 10_000
# What is larger was never counted.
MOST = 2**53


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file that was attached: its ``text``, or the first of it; ``index`` is its block's place.

    ``size`` is in bytes; ``pages`` are a PDF's. One that the words have ``mentioned`` comes and
    goes with them, and may be a folder's list of files.
    """

    index: int
    name: str
    text: str
    cut: bool
    size: int | None
    pages: int | None
    mentioned: bool = False
    is_folder: bool = False
    kind: ClassVar[str] = "file"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in a message, of so many pixels where that is known; ``index`` is its place."""

    index: int
    name: str
    width: int | None
    height: int | None
    mentioned: bool = False
    kind: ClassVar[str] = "image"


@dataclass(frozen=True, slots=True)
class CommandPart:
    """What a command in a message stands for."""

    name: str
    text: str
    kind: ClassVar[str] = "command"


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """A rule of the user's own, or a quote from message ``seq`` of somebody with this ``role``.

    It may also be a rule that an imported file ``claimed`` to be the user's.
    """

    text: str
    seq: int = 0
    role: str = ""
    claimed: bool = False
    kind: ClassVar[str] = "pinned"


BesidePart = FilePart | ImagePart | CommandPart | PinnedPart


def attached_part(index: int, block: condense.Block) -> BesidePart | None:
    """Return how a block is shown, None for somebody's own words, and what is not at hand."""
    said = condense.beside_of(block)
    if isinstance(block, condense.TextBlock) and stands_for(block):
        role = said.get("role")
        seq = _number(said, "seq") or 0
        return PinnedPart(text_of(block), seq, str(role or ""), is_claimed(block))
    if isinstance(block, condense.TextBlock) and said.get("kind") == COMMAND:
        return CommandPart(_name(said, _("Command")), text_of(block))
    if isinstance(block, condense.TextBlock) and is_file(block):
        text, name = text_of(block), _name(said, _("File"))
        size, pages = _number(said, "size"), _number(said, "pages")
        is_cut = len(text) > SHOWN
        mention = said.get("mention")
        part = FilePart(index, name, text[:SHOWN], is_cut, size, pages, mention is not None)
        return replace(part, is_folder=mention == "folder")
    if isinstance(block, condense.ImageBlock) and is_image(block):
        width, height = _number(said, "width"), _number(said, "height")
        return ImagePart(index, _name(said, _("Image")), width, height, "mention" in said)
    return None


def _name(said: Mapping[str, Any], default: str) -> str:
    name = said.get("name")
    return name if isinstance(name, str) and name.strip() else default


def _number(said: Mapping[str, Any], name: str) -> int | None:
    value = said.get(name)
    return value if type(value) is int and 0 < value <= MOST else None


# Characters of a tool's result that are worth a summary by itself.
LONG_RESULT = 4_000


@dataclass(frozen=True, slots=True)
class TextPart:
    """Rendered, sanitised markdown."""

    html: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class NotePart:
    """A block with no rendering of its own (thinking, a document), named in words."""

    label: str
    text: str = ""
    kind: ClassVar[str] = "note"


@dataclass(frozen=True, slots=True)
class HiddenBy:
    """Why the model does not see something: ``reason`` in words, ``row_id`` and ``at`` where.

    ``words`` say how much is hidden for the same reason.
    """

    reason: str
    row_id: str
    at: str
    words: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is asked about a call; ``lines`` are what would change, each with its kind.

    A kind is "added", "removed", "place", "file" or "same". Where the model asks, ``text`` is its
    question and ``suggestions`` are answers to it.
    """

    pk: int
    wants_words: bool
    access: str
    text: str
    suggestions: Sequence[str]
    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One tool call with its result.

    ``state`` is "asked", "running", "done", "failed", "denied" by a person, or "unanswered"; one
    that runs does so since
    ``since`` (Unix seconds), and one that ran took ``seconds``, unless it was imported. ``size``
    counts the result's characters, of which ``result`` may have the first only; ``cleared`` says
    why the model sees only a line of the result.
    ``whole`` names an output that was cut in the middle.
    """

    id: str
    name: str
    argument: str
    input: str
    result: str
    state: str
    size: int
    cut_input: bool = False
    cut_result: bool = False
    seconds: float | None = None
    since: float | None = None
    whole: str = ""
    cleared: HiddenBy | None = None
    asked: Asked | None = None
    kind: ClassVar[str] = "tool"

    @property
    def is_long(self) -> bool:
        """Whether a summary of the result may be worth a call."""
        return self.state in {"done", "failed"} and self.size >= LONG_RESULT and not self.cleared


Part = TextPart | NotePart | ToolCard | BesidePart
