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
    """The passages recalled with a message."""

    before: str  # other text, in an imported file
    passages: Sequence[RecalledPassage]
    forgets: bool = False  # they are those of earlier messages that it forgets
    missed: bool = False  # it did not find what to forget

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
    """Tokens and USD of all calls of a turn, summaries and failures included."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost: Decimal | None  # None if that of some call is unknown
    measured: bool = True  # no tokens of a call are an estimate


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """The last ``call`` of a turn, which wrote no message; all of ``turn`` if it had several."""

    id: str
    call: ModelCall
    turn: TurnCost | None


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """The shown version of a message or an answer."""

    place: str  # the same in rows of versions that were set aside
    number: int
    count: int
    earlier: uuid.UUID | None  # another version
    later: uuid.UUID | None  # another version


@dataclass(frozen=True, kw_only=True)
class RowPlace:
    """The id of a row on the page, and its place in the conversation."""

    id: str
    seq: int
    position: int


@dataclass(frozen=True, kw_only=True)
class MessageRow(RowPlace):
    """A message of the user or the agent; an agent's row includes the results of its tools."""

    role: str
    parts: Sequence[Part]
    created_at: datetime
    recalled: RecalledPart | None = None  # hidden passages added to it
    around: str = ""  # surroundings at its sending
    call: ModelCall | None = None  # wrote it
    missed: str = ""  # reason that the prompt was not read from a cache
    turn: TurnCost | None = None  # on the last message of a turn of several calls
    is_step: bool = False  # the agent called tools here and went on
    cut: str = ""  # reason that an answer is not whole
    versions: VersionChoice | None = None
    hidden_by: HiddenBy | None = None
    editable: bool = False
    rewindable: bool = False
    pinned: bool = False  # kept word for word
    pinned_tokens: int = 0  # that this takes
    pinnable: bool = False  # it is visible
    continuable: bool = False  # the last one, if it is cut
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
    """An attempt that condensed, truncated or cleared."""

    words: KindWords  # name its kind
    undoable: bool
    fits: bool  # the originals do, once it is undone
    undoable_below: bool  # later ones stand on it, and are undone too
    redoable: bool
    redone_with: int  # number of those undone at the same time
    rewritable: bool
    slim: bool  # one line, as it hides no messages
    hidden_by: HiddenBy | None
    nudges: bool  # a person's first one: look into it
    named_window: int | None = None  # the provider's in a refusal, if smaller than the profile's
    template: ClassVar[str] = "chat/rows/condensation.html"


@dataclass(frozen=True, kw_only=True)
class FailureRow(RowPlace, AttemptWords):
    """An attempt that hid nothing, and that no other replaced."""

    failed: bool  # not cancelled, and it had something to do
    repeatable: bool  # its part is known
    scope: str  # that part as JSON, {} for all
    template: ClassVar[str] = "chat/rows/failure.html"


@dataclass(frozen=True, kw_only=True)
class TurnRow(RowPlace):
    """A turn that failed, was interrupted, or stopped without an answer."""

    turn: Turn
    name: str
    reason: str
    failed: bool
    figures: TurnFigures | None  # that no message shows
    commands: tuple[str, ...] = ()  # "turn.retry" and "turn.continue", of the last turn only
    template: ClassVar[str] = "chat/rows/turn.html"


@dataclass(frozen=True, kw_only=True)
class RewindRow(RowPlace):
    """A rewind."""

    rewind: Rewind
    name: str
    words: str  # count the hidden messages
    undoable: bool = False
    shown: bool = False  # can be shown again, as a version
    rest: bool = False  # an earlier page has the beginning
    slim: bool = False  # one line: undone, or made room for something
    rows: Sequence["Row"] = ()  # that it set aside
    template: ClassVar[str] = "chat/rows/rewind.html"

    @property
    def remembers(self) -> bool:
        """True if a request to forget was rewound here, so that its passages are read again."""
        messages = [one for one in self.rows if isinstance(one, MessageRow)]
        return any(one.recalled and one.recalled.forgets for one in messages)


Row = MessageRow | ContinuedRow | CondensationRow | FailureRow | TurnRow | RewindRow


@dataclass(frozen=True, slots=True)
class RowPage:
    """Rows in reading order, as they stood at a revision of the conversation."""

    rows: Sequence[Row]
    older: str  # cut where the page before it ends, or ""
    newer: str  # cut where the page after it begins, or ""
    revision: int
