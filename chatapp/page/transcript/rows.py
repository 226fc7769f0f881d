"""Rows of the transcript.

A row holds values, no markup: each has a template of its own under ``templates/chat/rows/``, used
alike by the page, by later pages of it, and by the live view.
"""

import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

import condense
from chatapp.agent import annotated_blocks as blocks
from chatapp.models import Condensation, ModelCall, Rewind, Turn
from chatapp.page.transcript.labels import AttemptWords, KindWords, kind_words, seen_words
from chatapp.page.transcript.message_parts import HiddenBy, Part
from chatapp.project.sentences import translate as _


@dataclass(frozen=True, slots=True)
class RecalledPassage:
    """A passage of message ``seq``, with its label and its speaker ("" in older messages)."""

    seq: int
    label: str
    text: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class RecalledPart:
    """The passages recalled with a message, and other text ``before`` them in an imported file.

    Or those of earlier messages that this one ``forgets``. It may have ``missed`` what to forget.
    """

    before: str
    passages: Sequence[RecalledPassage]
    forgets: bool = False
    missed: bool = False

    @property
    def label(self) -> str:
        """The number of passages, in words."""
        count = len(self.passages)
        if self.missed:
            return _("Forgot nothing")
        if self.forgets:
            return _("Forgot {count} passage", "Forgot {count} passages", count=count)
        return _("Recalled {count} passage", "Recalled {count} passages", count=count)


def recalled_part(message: condense.Message) -> RecalledPart | None:
    """Return the passages recalled with a message, or forgotten by it; None for most."""
    missed = False
    for block in message.blocks:
        if blocks.kind_of(block) == condense.FORGOTTEN and isinstance(block, condense.TextBlock):
            named = [*blocks.forgotten_by([block.to_api()])]
            # A file may have the model read anything here.
            before = "" if block.text == blocks.forgotten_block(named).text else block.text
            places = [
                RecalledPassage(seq, _("Message {number}", number=seq), text) for seq, text in named
            ]
            if not (missed := not (places or before)):
                return RecalledPart(before, places, forgets=True)
    found = [condense.split_recalled(one.text) for one in blocks.recalled_in(message.blocks)]
    if not (found or missed):
        return None
    passages = []
    # The model is "you" to itself alone.
    called = {"the user": _("You"), "you": _("Agent")}
    for seq, day, speaker, text in itertools.chain.from_iterable([told for _before, told in found]):
        label = _("Message {number}", number=seq)
        if day:
            label = _("Message {number}, {day}", number=seq, day=day)
        who = called.get(speaker, speaker.removeprefix("the "))
        passages.append(RecalledPassage(seq, label, text, who))
    return RecalledPart("\n".join([text for text, _told in found]), passages, missed=missed)


def hider(attempt: Condensation) -> HiddenBy:
    """Return the reason and the place of an attempt, for the messages that it hides."""
    made, reason = attempt.message, kind_words(attempt.kind, attempt.strategy).hidden
    at = f"{made.position}.{made.seq}" if made else ""
    return HiddenBy(reason, f"condensation-{attempt.pk}", at, seen_words(attempt))


@dataclass(frozen=True, slots=True)
class TurnCost:
    """Tokens and USD of all calls of a turn, summaries and failures included.

    The cost is None if that of some call is unknown. Unless ``measured``, a part of some call's
    tokens is an estimate.
    """

    calls: int
    tokens_in: int
    tokens_out: int
    cost: Decimal | None
    measured: bool = True


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """The last ``call`` of a turn, which wrote no message; all of ``turn`` if it had several."""

    id: str
    call: ModelCall
    turn: TurnCost | None


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """The shown version of a message or an answer; ``earlier`` and ``later`` show others.

    The rows of versions that were set aside have the same ``place``.
    """

    place: str
    number: int
    count: int
    earlier: uuid.UUID | None
    later: uuid.UUID | None


@dataclass(frozen=True, kw_only=True)
class RowPlace:
    """The id of a row on the page, and its place in the conversation."""

    id: str
    seq: int
    position: int


@dataclass(frozen=True, kw_only=True)
class MessageRow(RowPlace):
    """A message of the user or the agent; an agent's row includes the results of its tools.

    Hidden passages that were added to it are ``recalled``. ``call`` wrote it, and ``missed`` is the
    reason why the prompt was not read from the provider's cache. ``turn`` is set on the last
    message of a turn that took more than one call; ``is_step`` is True if the agent called tools
    here and went on. ``cut`` explains why an answer is not whole; the last one is then
    ``continuable``. ``around`` are the surroundings at its sending. A ``pinned`` message is kept
    word for word, which takes ``pinned_tokens``; a visible one is ``pinnable``.
    """

    role: str
    parts: Sequence[Part]
    created_at: datetime
    recalled: RecalledPart | None = None
    around: str = ""
    call: ModelCall | None = None
    missed: str = ""
    turn: TurnCost | None = None
    is_step: bool = False
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
    def offered(self) -> frozenset[str]:
        """The flags that decide on the actions of its menu."""
        names = ("editable", "repeatable", "pinned", "pinnable", "rewindable")
        return frozenset([name for name in names if getattr(self, name)])


@dataclass(frozen=True, kw_only=True)
class ContinuedRow(RowPlace):
    """The message that asks the model to go on with an answer that was cut."""

    created_at: datetime
    source: str
    hidden_by: HiddenBy | None = None
    template: ClassVar[str] = "chat/rows/continued.html"


@dataclass(frozen=True, kw_only=True)
class CondensationRow(RowPlace, AttemptWords):
    """An attempt that condensed, truncated or cleared; ``words`` names its kind.

    The originals of an ``undoable`` one fit if it ``fits``. Later condensations stand on one that
    is ``undoable_below``; ``redone_with`` counts those undone at the same time. One that hides no
    messages is a ``slim`` line. A person's first one ``nudges`` to look into it. The
    ``named_window`` is the provider's, if it refused a request and the profile's is larger.
    """

    words: KindWords
    undoable: bool
    fits: bool
    undoable_below: bool
    redoable: bool
    redone_with: int
    rewritable: bool
    slim: bool
    hidden_by: HiddenBy | None
    nudges: bool
    named_window: int | None = None
    template: ClassVar[str] = "chat/rows/condensation.html"


@dataclass(frozen=True, kw_only=True)
class FailureRow(RowPlace, AttemptWords):
    """An attempt that hid nothing, and that no other replaced.

    ``failed`` is False if it was cancelled or had nothing to do. It is ``repeatable`` unless its
    part is unknown: ``scope`` is that part as JSON, an empty object for the whole conversation.
    """

    failed: bool
    repeatable: bool
    scope: str
    template: ClassVar[str] = "chat/rows/failure.html"


@dataclass(frozen=True, kw_only=True)
class TurnRow(RowPlace):
    """A turn that failed, was interrupted, or stopped without an answer, with its ``reason``.

    While it is the last turn, ``commands`` take it up again: "turn.retry" and "turn.continue".
    ``figures`` are those that no message shows.
    """

    turn: Turn
    name: str
    reason: str
    failed: bool
    figures: TurnFigures | None
    commands: tuple[str, ...] = ()
    template: ClassVar[str] = "chat/rows/turn.html"


@dataclass(frozen=True, kw_only=True)
class RewindRow(RowPlace):
    """A rewind: ``rows`` are those that it set aside, ``words`` count the hidden messages.

    It is a version of a message or answer if it can be ``shown`` again, and only the ``rest`` of
    the hidden ones if an earlier page has the beginning. It is one ``slim`` line if it only made
    room for something else, or was undone.
    """

    rewind: Rewind
    name: str
    words: str
    undoable: bool = False
    shown: bool = False
    rest: bool = False
    slim: bool = False
    rows: Sequence["Row"] = ()
    template: ClassVar[str] = "chat/rows/rewind.html"

    @property
    def remembers(self) -> bool:
        """True if a request to forget was rewound here, so that its passages are read again."""
        messages = [one for one in self.rows if isinstance(one, MessageRow)]
        return any(one.recalled and one.recalled.forgets for one in messages)


Row = MessageRow | ContinuedRow | CondensationRow | FailureRow | TurnRow | RewindRow


@dataclass(frozen=True, slots=True)
class RowPage:
    """Rows in reading order, as they stood at a revision of the conversation.

    ``older`` is the cut where the page before it ends, ``newer`` the one where the page after it
    begins; "" when there is none.
    """

    rows: Sequence[Row]
    older: str
    newer: str
    revision: int
