"""What a row of the transcript consists of.

A row knows what to show, not how: each has a template of its own under ``templates/chat/rows/``,
used alike by the page, by later pages of it, and by the live view.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from chatapp.models import Condensation, Rewind
from chatapp.transcript.labels import KindWords


@dataclass(frozen=True, slots=True)
class TextPart:
    """Rendered, sanitised markdown; ``source`` is what "Copy" copies."""

    html: str
    source: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True, slots=True)
class NotePart:
    """A block with no rendering of its own (image, thinking, document), named in words."""

    label: str
    text: str = ""
    kind: ClassVar[str] = "note"


@dataclass(frozen=True, slots=True)
class HiddenBy:
    """Why the model does not see something: ``reason`` in words, ``row_id`` and ``at`` where."""

    reason: str
    row_id: str
    at: str


@dataclass(frozen=True, slots=True)
class ToolCard:
    """One tool call with its result.

    ``state`` is "running", "done", "failed" or "unanswered"; ``size`` counts the result's
    characters; ``seconds`` is known only in the live view, and ``cleared`` says why the model sees
    only a line of the result.
    """

    id: str
    name: str
    argument: str
    input: str
    result: str
    state: str
    size: int
    seconds: float | None = None
    cleared: HiddenBy | None = None
    kind: ClassVar[str] = "tool"


Part = TextPart | NotePart | ToolCard


@dataclass(frozen=True, slots=True)
class CallCost:
    """Tokens and USD of the call that wrote a message, its output estimated unless ``measured``."""

    tokens_in: int
    tokens_cached: int
    tokens_out: int
    cost: Decimal
    seconds: float
    model: str
    measured: bool = True


@dataclass(frozen=True, slots=True)
class TurnCost:
    """Tokens and USD of all calls of a turn, summaries and failures included.

    Unless ``measured``, the output of some call is an estimate.
    """

    calls: int
    tokens_in: int
    tokens_out: int
    cost: Decimal
    measured: bool = True


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message of the user or the agent; an agent's row includes the results of its tools.

    ``turn`` is set on the last message of a turn that took more than one call.
    """

    id: str
    seq: int
    position: int
    role: str
    parts: Sequence[Part]
    created_at: datetime
    source: str = ""
    call: CallCost | None = None
    turn: TurnCost | None = None
    stop_reason: str = ""
    hidden_by: HiddenBy | None = None
    editable: bool = False
    rewindable: bool = False
    template: ClassVar[str] = "chat/rows/message.html"

    @property
    def is_step(self) -> bool:
        """Whether the agent called tools here and went on; a turn's last message is none."""
        return self.turn is None and any(isinstance(part, ToolCard) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of the hidden part; ``state`` is "kept", "recoverable" or "missing".

    ``index`` is its place in the record's receipt.
    """

    index: int
    text: str
    state: str


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of one kind, the lost ones first, and how many of them were kept."""

    label: str
    kept: int
    facts: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class CondensationRow:
    """An attempt that condensed, truncated or cleared; ``attempt`` is the record itself.

    ``words`` names its kind, ``hidden_text`` says how much it hid and ``trigger_text`` what asked
    for it; ``saved_percent`` is the share of tokens saved (0-100);
    ``facts`` is its receipt, and ``facts_kept`` says in words how many facts were kept.
    """

    id: str
    seq: int
    position: int
    attempt: Condensation
    summary_html: str
    analysis_html: str
    words: KindWords
    hidden_text: str
    trigger_text: str
    saved_percent: int | None
    undoable: bool
    facts: Sequence["FactGroup"] = ()
    facts_kept: str = ""
    hidden_by: HiddenBy | None = None
    template: ClassVar[str] = "chat/rows/condensation.html"


@dataclass(frozen=True, slots=True)
class FailureRow:
    """An attempt that failed or was cancelled; ``instead`` says what happened in its place."""

    id: str
    seq: int
    position: int
    attempt: Condensation
    name: str
    trigger_text: str
    instead: str = ""
    template: ClassVar[str] = "chat/rows/failure.html"


@dataclass(frozen=True, slots=True)
class RewindRow:
    """A rewind: what it hid, and whether it can be undone now; ``rows`` are the hidden ones."""

    id: str
    seq: int
    position: int
    rewind: Rewind
    undoable: bool
    rows: Sequence["Row"] = field(default_factory=tuple)
    template: ClassVar[str] = "chat/rows/rewind.html"


Row = MessageRow | CondensationRow | FailureRow | RewindRow


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in reading order, as they stood at a revision of the conversation.

    ``older`` is the cut where the page before it ends, ``newer`` the one where the page after it
    begins; "" when there is none.
    """

    rows: Sequence[Row]
    older: str
    newer: str
    revision: int
