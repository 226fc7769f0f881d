"""The loop's ports to the conversation: journal, context keeper and audience."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import condense
from chatapp.agent import events
from chatapp.agent.provider_port import NO_FACTS, CallFacts, Purpose
from chatapp.agent.tool_port import ToolOutcome


@dataclass(frozen=True, slots=True)
class CallOpening:
    """One model call that is about to be made; the rest is as in its record.

    ``step`` counts the calls for an answer, and is 0 for any other; ``request`` is what is sent.
    """

    purpose: Purpose
    sent: Sequence[condense.Message] = ()
    attempt_id: str = ""
    step: int = 0
    request: events.SentRequest | None = None


@dataclass(frozen=True, slots=True)
class PartialReply:
    """What the model has written so far, as blocks, and the usage that was reported by then.

    A tool call's input is the JSON text that has come of it.
    """

    blocks: Sequence[Mapping[str, Any]] = ()
    usage: condense.Usage = field(default_factory=condense.Usage)

    @property
    def written(self) -> str:
        """All that was written, and has to be paid for."""
        return "".join([block["text"] for block in self.blocks])

    @property
    def content(self) -> tuple[condense.Block, ...]:
        """What the model may be sent of it: neither half a call, nor thinking without its end."""
        texts = [one["text"].strip() for one in self.blocks if one["type"] == "text"]
        said = "\n\n".join(filter(None, texts))
        return (condense.TextBlock(said),) if said else ()

    @property
    def shows(self) -> bool:
        """Whether there is something in it to show to people."""
        return any(block["type"] == "tool_use" or block["text"].strip() for block in self.blocks)


ReplyReader = Callable[[], PartialReply]


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One model call that is over, successful or not, for the accounts.

    ``usage`` is what the provider reported. Of a call that broke off it is not the whole truth:
    ``draft`` is what the model wrote in it. ``sent`` is the part of the conversation that the
    request showed; ``attempt_id`` names the attempt to condense that made the call. ``number`` is
    the one that the journal gave it when it began.
    """

    purpose: Purpose
    usage: condense.Usage
    seconds: float
    number: int
    error: str = ""
    is_whole: bool = True
    draft: PartialReply = field(default_factory=PartialReply)
    sent: Sequence[condense.Message] = ()
    attempt_id: str = ""
    seconds_to_first: float | None = None
    facts: CallFacts = NO_FACTS


class Journal(Protocol):
    """The stored conversation; each method is one short transaction."""

    @property
    def previous_reply(self) -> str:
        """The provider's name for the last reply of its model, "" without one."""

    async def effective_history(self) -> Sequence[condense.Message]:
        """Return what the model sees, in reading order."""

    async def open_call(self, opening: CallOpening) -> int:
        """Put a call on record before it is made, and return its number.

        Raises TurnEnded where somebody else has ended the turn, and SpendingLimitReached where no
        more may be spent.
        """

    async def withdraw_call(self, number: int) -> None:
        """Take a call off the record that is not made after all."""

    def keep_partial_reply(self, number: int, read: ReplyReader, *, at_once: bool) -> None:
        """Store what a call has written so far, soon or ``at_once``; returns immediately."""

    async def append(
        self, message: condense.Message, *, stop_reason: str = "", call: CallRecord | None = None
    ) -> condense.Message:
        """Store a message, with the call that wrote it, and return it with its seq."""

    async def record_call(self, call: CallRecord) -> None:
        """Account for a call that left no message."""

    async def open_tool(self, call: condense.ToolUseBlock) -> int:
        """Put a tool on record before it runs, and return the run's number."""

    async def close_tool(self, number: int, outcome: ToolOutcome) -> None:
        """Keep what a tool returned, until the message with all results is stored."""

    async def results(self, reply: condense.Message) -> Sequence[condense.ToolResultBlock]:
        """Return what the first calls of a reply have returned, as far as it was kept."""


class ContextPort(Protocol):
    """Keeps the effective history within the window."""

    async def fit(
        self, history: Sequence[condense.Message], trigger: condense.Trigger
    ) -> Sequence[condense.Message]:
        """Return the history to send: the same, or a reduced one.

        Raises a condense.CondenseError when it does not fit: CannotFit when nothing more may be
        hidden, otherwise why the last attempt failed.
        """

    def figures(self, history: Sequence[condense.Message]) -> events.ContextChanged:
        """Return what is known of ``history``, which the model sees now."""

    def leave(self) -> None:
        """Wait for no person any more: what waits raises LeftWaiting."""


class Audience(Protocol):
    """Whoever watches the turn; publishing returns at once."""

    def publish(self, event: events.TurnEvent) -> None:
        """Tell the watchers what happened."""


class Nobody:
    """Watches what nobody waits for."""

    def publish(self, event: events.TurnEvent) -> None:
        """Let it go."""
