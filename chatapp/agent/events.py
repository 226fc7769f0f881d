"""The events of a turn, named in the past tense.

``StreamEvent`` is what a provider yields, ``TurnEvent`` what the watchers of a turn are told.
"""

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import condense


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as bytes, told of before it is sent; anything that was sent before it is over.

    Its ``body`` is ``head + b",".join(fragments) + tail``. Each fragment is a message, and ``seqs``
    has its number in the conversation, or 0 where it was made for the request; ``digest`` is the
    body's SHA-256.
    """

    head: bytes
    fragments: tuple[bytes, ...]
    tail: bytes
    seqs: tuple[int, ...]
    body: bytes = field(repr=False)
    digest: bytes


@dataclass(frozen=True, slots=True)
class CallDescribed:
    """The provider said something about the call: fields of ``CallFacts``."""

    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """The model wrote some text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingStarted:
    """The model began to think, of which it may say nothing."""


@dataclass(frozen=True, slots=True)
class ThinkingStreamed:
    """The model wrote some of what it thinks."""

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
    """The provider said what the call has used so far; replaces an earlier report."""

    usage: condense.Usage


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """Something failed and is tried again in ``seconds``; ``attempt`` counts from 1."""

    reason: str
    seconds: float
    attempt: int
    attempts: int


@dataclass(frozen=True, slots=True)
class ReplyCompleted:
    """The reply is whole: its blocks, why it ended, and what it used."""

    content: tuple[condense.Block, ...]
    stop_reason: str
    usage: condense.Usage

    @property
    def is_cut(self) -> bool:
        """Whether it ended at the most tokens it may take, before the model had finished."""
        return self.stop_reason == "max_tokens"


# What a provider yields and watchers are told alike.
ReplyEvent = (
    TextStreamed
    | ThinkingStarted
    | ThinkingStreamed
    | ThinkingEnded
    | ToolUseStarted
    | RetryScheduled
)
StreamEvent = (
    ReplyEvent | SentRequest | CallDescribed | OutputStreamed | UsageReported | ReplyCompleted
)


def joined(told: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
    """Yield events; pieces in a row of text, or of what else was written, are one."""
    for kind, group in itertools.groupby(told, type):
        if kind in _PIECES:
            yield kind("".join(one.text for one in group if isinstance(one, _PIECES)))
        else:
            yield from group


_PIECES = (TextStreamed, ThinkingStreamed, OutputStreamed)


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A model call begins; ``step`` counts from 1 within the turn."""

    step: int


@dataclass(frozen=True, slots=True)
class MessageAppended:
    """A message was stored; it replaces what was streamed of it."""

    message: condense.Message


@dataclass(frozen=True, slots=True)
class ContextChanged:
    """What the model sees is now ``history``, which takes ``tokens`` with all a request repeats."""

    history: Sequence[condense.Message]
    tokens: condense.TokenCount


@dataclass(frozen=True, slots=True)
class StreamDiscarded:
    """The reply broke off before anything worth keeping; forget what was streamed."""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool began to run, at ``since`` (Unix seconds); ``output`` is the end of what it said."""

    id: str
    name: str
    input: Any
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
    """A tool that runs has put something out; ``output`` is the end of it so far."""

    id: str
    output: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool answered after ``seconds``."""

    id: str
    text: str
    is_error: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class CondensingAwaited:
    """A person asked for a condensation that begins after the step, or not any more."""

    awaited: bool = True


@dataclass(frozen=True, slots=True)
class CondensingStarted:
    """An attempt to make the context smaller began, for a reason given in words."""

    trigger: str


@dataclass(frozen=True, slots=True)
class CondensingProgressed:
    """The summary has grown to about ``tokens_written`` tokens."""

    tokens_written: int


@dataclass(frozen=True, slots=True)
class SummaryStreamed:
    """A summary that somebody is to review has grown to this ``text``."""

    text: str


@dataclass(frozen=True, slots=True)
class ReviewAsked:
    """The summary is written, and waits for a person in the review with this ``id``."""

    id: int


@dataclass(frozen=True, slots=True)
class ReviewAnswered:
    """The person has said what becomes of the summary, or the time for it is over."""


@dataclass(frozen=True, slots=True)
class CondensingFellBack:
    """The attempt failed, and another, simpler one begins at once."""


@dataclass(frozen=True, slots=True)
class CondensingEnded:
    """The last attempt ended; what the model sees may have changed.

    ``kind`` is "condensed", "truncated" or "cleared", whether or not it came to that; ``status``
    is "succeeded", "failed" or "cancelled".
    """

    kind: str
    status: str


TurnEvent = (
    ReplyEvent
    | StepStarted
    | MessageAppended
    | ContextChanged
    | StreamDiscarded
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
)
