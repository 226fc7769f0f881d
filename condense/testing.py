"""Fakes for tests of code that builds on the engine; no network, no clock, no chance."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from condense.budget.situation import Reduction
from condense.condenser.log import Attempt
from condense.condenser.review import Accept, Proposal, WriteAgain
from condense.errors import CondenseError
from condense.messages import Content, Message
from condense.summaries.summarizer import Chunk, SummaryRequest, TextChunk

Reply = str | Exception | Sequence[Chunk | Exception]


class ScriptedSummarizer:
    """Answers with the scripted replies, one per call, and remembers the requests.

    A reply is a text, an exception to raise, or chunks among which an exception is raised in its
    turn.
    """

    def __init__(
        self,
        *replies: Reply,
        supports_images: bool = True,
        caches_prompts: bool = False,
        compacts: bool = False,
    ) -> None:
        self._replies = list(replies)
        self.supports_images = supports_images
        self.compacts = compacts
        self.caches_prompts = caches_prompts
        self.requests: list[SummaryRequest] = []

    async def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:
        """Yield the next reply."""
        self.requests.append(request)
        if len(self.requests) > len(self._replies):
            raise LookupError(f"Only {len(self._replies)} replies are scripted.")
        reply = self._replies[len(self.requests) - 1]
        if isinstance(reply, str | Exception):
            reply = [TextChunk(reply) if isinstance(reply, str) else reply]
        for chunk in reply:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


class WordCounter:
    """Counts one token for each word of a content's texts, and ten for any other block."""

    def count(self, content: Content) -> int:
        """Return the number of words, plus ten for each block that is no text."""
        message = Message(role="user", content=content)
        others = sum([not hasattr(block, "text") for block in message.blocks])
        return len(message.text.split()) + 10 * others


@dataclass
class RecordingLog:
    """Remembers a condenser's reports, as ``(event, subject)`` pairs in order."""

    events: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The events' names in order, progress left out."""
        return [name for name, _ in self.events if name != "progressed"]

    def of(self, name: str) -> list[Any]:
        """Return the subjects of one kind of event."""
        return [subject for event, subject in self.events if event == name]

    async def started(self, attempt: Attempt) -> None:
        """Remember the attempt."""
        self.events.append(("started", attempt))

    async def progressed(self, _attempt: Attempt, tokens_written: int) -> None:
        """Remember the number of tokens written."""
        self.events.append(("progressed", tokens_written))

    async def succeeded(self, _attempt: Attempt, reduction: Reduction) -> None:
        """Remember the reduction."""
        self.events.append(("succeeded", reduction))

    async def failed(
        self, _attempt: Attempt, error: CondenseError, *, fell_back_to: str | None = None
    ) -> None:
        """Remember the error and the name of the next strategy."""
        self.events.append(("failed", (error, fell_back_to)))

    async def cancelled(self, attempt: Attempt) -> None:
        """Remember which attempt was taken back."""
        self.events.append(("cancelled", attempt))


class ScriptedReviewer:
    """Gives the scripted answer to each proposal, or raises it; then accepts all.

    Remembers the proposals, and each state of a summary that it ``read`` while it was written.
    """

    def __init__(self, *answers: Accept | WriteAgain | Exception) -> None:
        self._answers = list(answers)
        self.proposals: list[Proposal] = []
        self.read: list[str] = []

    async def heard(self, attempt: Attempt, read: Callable[[], str]) -> None:  # noqa: ARG002
        """Read the summary so far."""
        self.read.append(read())

    async def review(self, attempt: Attempt, proposal: Proposal) -> Accept | WriteAgain:  # noqa: ARG002
        """Return the next answer."""
        self.proposals.append(proposal)
        answer = self._answers.pop(0) if self._answers else Accept()
        if isinstance(answer, Exception):
            raise answer
        return answer
