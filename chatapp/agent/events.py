"""The events of a turn, named in the past tense.

A provider yields ``StreamEvent``, and the watchers of a turn receive ``TurnEvent``. The latter may
travel to another process, so they are small: long texts are read from their rows.
"""

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import condense


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as bytes, published before it is sent; an earlier request of the call is over."""

    head: bytes
    fragments: tuple[bytes, ...]  # one for each message
    tail: bytes
    seqs: tuple[int, ...]  # of these messages, 0 for one made for the request
    body: bytes = field(repr=False)  # ``head + b",".join(fragments) + tail``
    digest: bytes  # SHA-256 of the body


@dataclass(frozen=True, slots=True)
class CallDescribed:
    """The provider described the call, with fields of ``CallFacts``."""

    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """The model wrote some text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingStarted:
    """The model began to think, at ``since`` (Unix seconds); its thoughts may stay hidden."""

    since: float = field(default_factory=time.time, compare=False)


@dataclass(frozen=True, slots=True)
class ThinkingStreamed:
    """The model wrote a piece of its thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingEnded:
    """The model has thought for so many whole ``seconds``, and does something else."""

    seconds: int


@dataclass(frozen=True, slots=True)
class OutputStreamed:
    """The model wrote some of a tool call's input."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
    """The model began to write a tool call; its input is not complete yet."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The provider reported the call's usage so far; replaces an earlier report.

    One that ``is_final`` has all of the usage of a reply that can't be used.
    """

    usage: condense.Usage
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """Something failed, at ``since`` (Unix seconds), and is tried again in ``seconds``.

    ``attempt`` counts from 1.
    """

    reason: str
    seconds: float
    attempt: int
    attempts: int
    since: float = field(default_factory=time.time, compare=False)


@dataclass(frozen=True, slots=True)
class ReplyCompleted:
    """The reply is whole: its blocks, stop reason, usage, and the form of its reasoning."""

    content: tuple[condense.Block, ...]
    stop_reason: str
    usage: condense.Usage
    form: str | list[dict[str, Any]] = ""

    @property
    def is_cut(self) -> bool:
        """True if the reply ended at the limit of tokens, before the model had finished."""
        return self.stop_reason == "max_tokens"


@dataclass(frozen=True, slots=True)
class StreamDiscarded:
    """Forget the streamed reply: it broke off early, or comes again with its thinking apart."""


# Events that a provider yields, and that watchers receive unchanged.
ReplyEvent = (
    TextStreamed
    | ThinkingStarted
    | ThinkingStreamed
    | ThinkingEnded
    | ToolUseStarted
    | RetryScheduled
    | StreamDiscarded
)
StreamEvent = (
    ReplyEvent | SentRequest | CallDescribed | OutputStreamed | UsageReported | ReplyCompleted
)


def joined[E](told: Iterable[E]) -> Iterator[E]:
    """Yield events, with consecutive pieces of one kind of text joined into one."""
    kind: Any
    group: Any
    for kind, group in itertools.groupby(told, type):
        if kind in _PIECES:
            yield kind("".join([one.text for one in group]))
        else:
            yield from group


_PIECES = (TextStreamed, ThinkingStreamed, OutputStreamed)


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A model call begins, at ``since`` (Unix seconds); ``step`` counts from 1 within the turn."""

    step: int
    since: float = field(default_factory=time.time, compare=False)


@dataclass(frozen=True, slots=True)
class MessageAppended:
    """Message ``seq`` was stored; it replaces its streamed text.

    It ``calls`` tools, or ``holds_results`` of them.
    """

    seq: int
    role: str
    calls: bool = False
    holds_results: bool = False

    @classmethod
    def of(cls, message: condense.Message) -> Self:
        """Return the event of a message that was stored."""
        calls, results = bool(message.tool_uses), bool(message.tool_results)
        return cls(message.seq, message.role, calls, results)


@dataclass(frozen=True, slots=True)
class ContextChanged:
    """The figures of the effective history and its ``condense.Budget``; sizes in tokens."""

    tokens: int  # of a request
    measured: bool
    system: int  # estimate before calibration, as the next three
    tools: int
    messages: int
    summaries: int  # part of the messages
    window: int
    max_output: int | None
    threshold: float
    threshold_source: str
    buffer: float
    hides: Mapping[str, int] | None = None  # counts of what a condensation may hide, if any
    said_nothing: bool = False  # none may be, before the model has said anything

    @property
    def budget(self) -> condense.Budget:
        """The window, and when it is condensed."""
        source = self.threshold_source
        return condense.Budget(self.window, self.max_output, self.threshold, source, self.buffer)


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool began to run, at ``since`` (Unix seconds); ``output`` is the end of its output."""

    id: str
    name: str
    output: str = ""
    since: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True)
class PersonAsked:
    """The turn waits for a person, about the call with this id."""

    id: str


@dataclass(frozen=True, slots=True)
class PersonAnswered:
    """The person has answered, and the turn goes on."""

    id: str


@dataclass(frozen=True, slots=True)
class ToolProgressed:
    """A running tool wrote ``output``, which is the end of all its output so far."""

    id: str
    output: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool answered after ``seconds``; the row with number ``run`` has its text."""

    id: str
    run: int
    is_error: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class CondensingAwaited:
    """A condensation begins after this step at a person's request, or no longer does."""

    awaited: bool = True


@dataclass(frozen=True, slots=True)
class CondensingStarted:
    """An attempt to make the context smaller began, at ``since`` (Unix seconds)."""

    trigger: str
    since: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True)
class CondensingProgressed:
    """The summary has grown to about ``tokens_written`` tokens."""

    tokens_written: int


@dataclass(frozen=True, slots=True)
class SummaryStreamed:
    """The summary under review goes on with ``text`` after ``at`` letters."""

    text: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class ReviewAsked:
    """The summary is written, and waits for a person in the review with this ``id``."""

    id: int


@dataclass(frozen=True, slots=True)
class ReviewAnswered:
    """The person has decided on the summary, or the time for it is over."""


@dataclass(frozen=True, slots=True)
class CondensingFellBack:
    """The attempt failed, and another, simpler one begins at once."""


@dataclass(frozen=True, slots=True)
class CondensingEnded:
    """The last attempt ended; the effective history may have changed."""

    kind: str  # "condensed", "truncated" or "cleared", for failed attempts too
    status: str  # "succeeded", "failed" or "cancelled"


# A turn's status at its end.
DONE, STOPPED, FAILED = condense.noop("Done."), condense.noop("Stopped."), condense.noop("Failed.")


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn ended with this ``status``, and nothing of it runs any more."""

    status: str
    kind: str = "info"  # "error" or "info"
    reason: str = ""  # shown at the composer, as no row has it
    details: str = ""  # to copy
    has_row: bool = False  # a row of the transcript describes the end


@dataclass(frozen=True, slots=True)
class Restarted:
    """Earlier events are void; the following ones start again from the beginning."""


TurnEvent = (
    ReplyEvent
    | StepStarted
    | MessageAppended
    | ContextChanged
    | PersonAsked
    | PersonAnswered
    | ToolStarted
    | ToolProgressed
    | ToolFinished
    | CondensingAwaited
    | CondensingStarted
    | CondensingProgressed
    | SummaryStreamed
    | ReviewAsked
    | ReviewAnswered
    | CondensingFellBack
    | CondensingEnded
    | TurnEnded
    | Restarted
)
