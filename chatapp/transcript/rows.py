"""What a row of the transcript consists of.

A row knows what to show, not how: each has a template of its own under ``templates/chat/rows/``,
used alike by the page, by later pages of it, and by the live view.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

import condense
from chatapp.models import Condensation, Rewind, Turn
from chatapp.transcript.labels import KindWords
from chatapp.transcript.message_parts import HiddenBy, Part, ToolCard
from chatapp.transcript.receipts import FactGroup


@dataclass(frozen=True, slots=True)
class CallCost:
    """Tokens and USD of the call that wrote a message, its output estimated unless ``measured``.

    ``missed`` says why the prompt was not read from the provider's cache, and ``dropped`` counts
    the blocks that the provider left out of it.
    """

    tokens_in: int
    tokens_cached: int
    tokens_out: int
    cost: Decimal | None
    seconds: float
    model: str
    measured: bool = True
    seconds_to_first: float | None = None
    tokens_per_second: float | None = None
    missed: str = ""
    dropped: int = 0
    request_id: str = ""
    pk: int = 0


@dataclass(frozen=True, slots=True)
class TurnCost:
    """Tokens and USD of all calls of a turn, summaries and failures included.

    Unless ``measured``, the output of some call is an estimate.
    """

    calls: int
    tokens_in: int
    tokens_out: int
    cost: Decimal | None
    measured: bool = True


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """Which version of a message or an answer is shown; ``earlier`` and ``later`` bring others."""

    number: int
    count: int
    earlier: uuid.UUID | None
    later: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message of the user or the agent; an agent's row includes the results of its tools.

    ``turn`` is set on the last message of a turn that took more than one call. ``cut`` says that
    an answer is not whole; where it is the last one, it is ``continuable``. What is ``pinned`` the
    model keeps word for word, which takes ``pinned_tokens``; ``pinnable`` is what it sees.
    """

    id: str
    seq: int
    position: int
    role: str
    parts: Sequence[Part]
    created_at: datetime
    call: CallCost | None = None
    turn: TurnCost | None = None
    cut: str = ""
    versions: VersionChoice | None = None
    hidden_by: HiddenBy | None = None
    editable: bool = False
    rewindable: bool = False
    pinned: bool = False
    pinned_tokens: int = 0
    pinnable: bool = False
    continuable: bool = False
    repeatable: bool = False
    template: ClassVar[str] = "chat/rows/message.html"

    @property
    def is_step(self) -> bool:
        """Whether the agent called tools here and went on; a turn's last message is none."""
        return self.turn is None and any(isinstance(part, ToolCard) for part in self.parts)


@dataclass(frozen=True, slots=True)
class ContinuedRow:
    """The message that asks the model to go on with an answer that was cut."""

    id: str
    seq: int
    position: int
    created_at: datetime
    source: str
    hidden_by: HiddenBy | None = None
    template: ClassVar[str] = "chat/rows/continued.html"


@dataclass(frozen=True, slots=True)
class CondensationRow:
    """An attempt that condensed, truncated or cleared; ``attempt`` is the record itself.

    ``words`` names its kind, ``hidden_text`` says how much it hid and ``trigger_text`` what asked
    for it; ``saved_percent`` is the share of tokens saved (0-100);
    ``undoable_below`` is what later condensations stand on; ``redone_with`` counts what was undone
    at the same time;
    ``facts`` is its receipt, and ``facts_kept`` says in words how many facts were kept; ``folded``
    is what became of the files that were read. What hides no messages is one ``slim`` line. A
    conversation's first one ``nudges`` to look into it.
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
    undoable_below: bool = False
    redoable: bool = False
    redone_with: int = 0
    rewritable: bool = False
    slim: bool = False
    facts: Sequence[FactGroup] = ()
    facts_kept: str = ""
    folded: condense.FoldingRecord | None = None
    hidden_by: HiddenBy | None = None
    nudges: bool = False
    template: ClassVar[str] = "chat/rows/condensation.html"


@dataclass(frozen=True, slots=True)
class FailureRow:
    """An attempt that came to nothing; ``instead`` says what happened in its place.

    ``failed`` tells a failure from what was cancelled, or had nothing to do. It is ``repeatable``
    unless it is not known what it was of: the ``scope`` says that as JSON, empty for all.
    """

    id: str
    seq: int
    position: int
    attempt: Condensation
    name: str
    trigger_text: str
    failed: bool
    instead: str = ""
    repeatable: bool = True
    scope: str = "{}"
    template: ClassVar[str] = "chat/rows/failure.html"


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn that failed, was interrupted, or stopped before it answered; ``reason`` says why.

    While it is the last turn, ``commands`` take it up again: "turn.retry" and "turn.continue".
    """

    id: str
    seq: int
    position: int
    turn: Turn
    name: str
    reason: str
    failed: bool
    commands: tuple[str, ...] = ()
    template: ClassVar[str] = "chat/rows/turn.html"


@dataclass(frozen=True, slots=True)
class RewindRow:
    """What a rewind set aside: ``rows`` are the hidden ones, ``words`` say how much it hid.

    It is a version of a message or answer where it can be ``shown`` again, and only the ``rest``
    of what it hid where an earlier page has the beginning. It is one ``slim`` line where it only
    made room for something else, or was undone.
    """

    id: str
    seq: int
    position: int
    rewind: Rewind
    name: str
    words: str
    undoable: bool = False
    shown: bool = False
    rest: bool = False
    slim: bool = False
    rows: Sequence["Row"] = field(default_factory=tuple)
    template: ClassVar[str] = "chat/rows/rewind.html"


Row = MessageRow | ContinuedRow | CondensationRow | FailureRow | TurnRow | RewindRow


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
