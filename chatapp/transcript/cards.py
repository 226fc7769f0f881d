"""What a message consists of on the page: text, notes, files, and the cards of its tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from chatapp.transcript.attached import BesidePart

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
