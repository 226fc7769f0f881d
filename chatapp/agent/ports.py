"""The agent's ports: the tools, the provider, and the conversation, as the loop sees them."""

import enum
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import condense
from chatapp.agent import events
from chatapp.agent.annotated_blocks import result_block
from chatapp.agent.errors import ToolError


class Access(enum.StrEnum):
    """A tool's access to the world outside the conversation."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


class ToolPolicy(enum.StrEnum):
    """Permission of a tool: always, ask each time, or never.

    An unknown stored value means never.
    """

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @classmethod
    def _missing_(cls, _value: object) -> "ToolPolicy":
        return cls.DENY


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=dict, hash=False)
    tally: tuple[str, str] | None = None  # for people: one use, and ``{count}`` different ones
    access: Access = Access.READ
    policy: ToolPolicy | None = None  # by default reading is allowed, and all else asked about

    @property
    def default_policy(self) -> ToolPolicy:
        """The tool's policy while the user has set none."""
        return self.policy or (ToolPolicy.ALLOW if self.access is Access.READ else ToolPolicy.ASK)

    def to_api(self) -> dict[str, Any]:
        """Return the tool in the Messages API's shape."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": dict(self.input_schema),
        }


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A tool's answer; ``text`` goes to the model, and ``images`` after it.

    ``user_words`` are the user's part of the text: an answer, or the reason of a refusal.
    """

    text: str
    is_error: bool = False
    images: tuple[condense.ImageBlock, ...] = ()
    user_words: str = ""

    def answer(self, call: condense.ToolUseBlock) -> condense.ToolResultBlock:
        """Return it as the result of a call."""
        text = condense.TextBlock(self.text)
        content: condense.Content = (text, *self.images) if self.images else self.text
        return result_block(call, content, is_error=self.is_error, words=self.user_words)


class Line(Protocol):
    """The line from a running call to the watchers: output and questions."""

    def show(self, output: str) -> None:
        """Show the end of the tool's output so far; returns at once."""

    async def ask(self, question: str, answers: Sequence[str], /) -> str:
        """Return a person's answer; waits without a time limit."""


class NoLine:
    """The line of a call without watchers."""

    def show(self, output: str) -> None:
        """Drop the output."""

    async def ask(self, _question: str, _answers: Sequence[str]) -> str:
        """Refuse: no person watches."""
        raise ToolError("There is nobody here who could be asked.")


NO_LINE = NoLine()


class Toolbox(Protocol):
    """The tools of one conversation."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools the model may call."""

    def holds(self, path: str) -> bool:
        """Return True if the tools could read this path now; reads the disk."""

    async def run(
        self, name: str, arguments: Mapping[str, Any], line: Line = NO_LINE
    ) -> ToolOutcome:
        """Run one call; every failure comes back as an outcome with ``is_error``."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A call that a person is asked about: at ``place`` (from 0) of message ``seq``."""

    call: condense.ToolUseBlock  # servers may repeat its id in every reply, or twice in one
    seq: int
    place: int


class ApprovalPort(Protocol):
    """Permits or refuses calls; asks a person if there is no decision yet."""

    async def permit(self, asking: Asking) -> ToolOutcome | None:
        """Return the refusal for the model if a call may not run, None if it may."""

    async def ask(self, asking: Asking, question: str, answers: Sequence[str]) -> str:
        """Return a person's answer; raise LeftWaiting after ``leave``."""

    def leave(self) -> None:
        """Stop waiting for people: waiting calls raise LeftWaiting."""


class Purpose(enum.StrEnum):
    """The purpose of a model call."""

    CHAT = "chat"
    SUMMARY = "summary"
    CHECK = "check"
    TITLE = "title"


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A provider's facts about a call, apart from its reply."""

    request_id: str = ""
    reply_id: str = ""
    cache_miss: str = ""  # why the prompt could not be read from the cache
    missed_tokens: int | None = None  # the size of the missed part
    transformations: tuple[Mapping[str, Any], ...] = ()  # its changes to the request


NO_FACTS = CallFacts()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model; ``messages`` are shaped as the Messages API accepts them."""

    system: str
    messages: tuple[condense.Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    purpose: Purpose = Purpose.CHAT
    previous_reply: str = ""  # the provider's name for the reply before this one
    compaction: str = ""  # instruction; the reply is to be the provider's own compaction


@dataclass(frozen=True, slots=True)
class Model:
    """The model a profile names, with its limits in tokens and its prices in USD."""

    name: str
    context_window: int
    max_output: int
    prices: condense.Prices = field(default_factory=condense.Prices)
    supports_images: bool = True
    caches_prompts: bool = False  # reads a request that begins like the last one from a cache
    temperature: float | None = None
    effort: str = ""  # amount of thinking, one of the specs' EFFORTS; "" for the model's own
    compacts: bool = False  # can be asked for a compaction


class Provider(Protocol):
    """A vendor's API for one model."""

    @property
    def model(self) -> Model:
        """The model that answers."""

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Return the prompt's size in tokens as the vendor counts it, None if it cannot."""

    def stream(self, request: ModelRequest) -> AsyncIterator[events.StreamEvent]:
        """Yield the reply as it is written, :class:`events.ReplyCompleted` last.

        Each request is yielded before it is sent, as :class:`events.SentRequest`.
        Usage is yielded as soon as it is known, so that a call that breaks off is still accounted
        for. Raises ProviderError, or ContextOverflow when the prompt does not fit.
        """


@dataclass(frozen=True, slots=True)
class CallOpening:
    """One model call that is about to be made; the rest is as in its record."""

    purpose: Purpose
    sent: Sequence[condense.Message] = ()
    attempt_id: str = ""
    step: int = 0  # counts the calls for an answer, 0 for any other
    request: events.SentRequest | None = None  # the sent one


@dataclass(frozen=True, slots=True)
class PartialReply:
    """The blocks that the model has written so far, and the usage reported by then.

    A tool call's input is the part of its JSON text that has arrived.
    """

    blocks: Sequence[Mapping[str, Any]] = ()
    usage: condense.Usage = field(default_factory=condense.Usage)

    @property
    def written(self) -> str:
        """All text that was written, and has to be paid for."""
        return "".join([block["text"] for block in self.blocks])

    @property
    def content(self) -> tuple[condense.Block, ...]:
        """The part that may be sent to the model: no calls, and no thinking."""
        texts = [one["text"].strip() for one in self.blocks if one["type"] == "text"]
        said = "\n\n".join(filter(None, texts))
        return (condense.TextBlock(said),) if said else ()

    @property
    def shows(self) -> bool:
        """True if it holds text or a call to show to people."""
        return any(block["type"] == "tool_use" or block["text"].strip() for block in self.blocks)


ReplyReader = Callable[[], PartialReply]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One model call that is over, successful or not, for the accounts."""

    purpose: Purpose
    usage: condense.Usage  # as reported; incomplete for a call that broke off
    seconds: float
    number: int  # given by the journal when it began
    error: str = ""
    is_whole: bool = True
    is_reported: bool = False  # all of the usage, also if it broke off
    is_given_up: bool = False  # cancelled
    draft: PartialReply = field(default_factory=PartialReply)  # of a call that broke off
    sent: Sequence[condense.Message] = ()  # the part of the conversation in the request
    attempt_id: str = ""  # of the condensation attempt that made the call
    seconds_to_first: float | None = None
    facts: CallFacts = NO_FACTS


class Journal(Protocol):
    """The stored conversation; each method is one short transaction."""

    @property
    def previous_reply(self) -> str:
        """The provider's name for the last reply of its model, "" without one."""

    async def effective_history(self) -> Sequence[condense.Message]:
        """Return the effective history, in reading order."""

    async def open_call(self, opening: CallOpening) -> int:
        """Put a call on record before it is made, and return its number.

        Raises TurnEnded if another process has ended the turn, and SpendingLimitReached if no more
        may be spent.
        """

    async def withdraw_call(self, number: int) -> None:
        """Take a call off the record that is not made after all."""

    def keep_partial_reply(self, number: int, read: ReplyReader, *, at_once: bool) -> None:
        """Store the partial reply of a call, soon or ``at_once``; returns immediately."""

    async def append(
        self, message: condense.Message, *, stop_reason: str = "", call: CallRecord | None = None
    ) -> condense.Message:
        """Store a message, with the call that wrote it, and return it with its seq."""

    async def record_call(self, call: CallRecord) -> None:
        """Account for a call that left no message."""

    async def open_tool(self, call: condense.ToolUseBlock) -> int:
        """Put a tool on record before it runs, and return the run's number."""

    async def close_tool(self, number: int, outcome: ToolOutcome) -> None:
        """Store a tool's outcome until the message with all results is stored."""

    async def results(self, reply: condense.Message) -> Sequence[condense.ToolResultBlock]:
        """Return the stored results of a reply's calls; calls without one are absent."""


class ContextPort(Protocol):
    """Keeps the effective history within the window."""

    async def fit(
        self, history: Sequence[condense.Message], trigger: condense.Trigger
    ) -> Sequence[condense.Message]:
        """Return the history to send: the same, or a reduced one.

        Raises a condense.CondenseError when it does not fit: CannotFit when nothing more may be
        hidden, otherwise why the last attempt failed.
        """

    async def figures(self, history: Sequence[condense.Message]) -> events.ContextChanged:
        """Return the figures of ``history``, which is the effective history now."""

    def leave(self) -> None:
        """Stop waiting for people: a waiting review raises LeftWaiting."""


class Audience(Protocol):
    """The watchers of a turn; publishing returns at once."""

    def publish(self, event: events.TurnEvent) -> None:
        """Publish an event to the watchers."""


class Nobody:
    """An audience without watchers."""

    def publish(self, event: events.TurnEvent) -> None:
        """Drop the event."""
