"""What is attached to a message, as its row shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.utils.translation import gettext as _

import condense
from chatapp.agent.beside import COMMAND, is_claimed, is_file, stands_for, text_of
from chatapp.tools.media import is_image

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
