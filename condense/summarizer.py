"""The model that writes summaries, as the engine asks for it, and one call to it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from condense.errors import SummaryFailed
from condense.failure import describe
from condense.messages import Message
from condense.usage import Usage


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """One request for a summary; the last text of the last message is the instruction.

    ``messages`` are valid for the Messages API without any tools. ``max_output`` is the most
    tokens the answer may take, 0 where the model's own limit applies.
    """

    system: str
    messages: tuple[Message, ...]
    max_output: int = 0


@dataclass(frozen=True, slots=True)
class TextChunk:
    """The next piece of the summary."""

    text: str


@dataclass(frozen=True, slots=True)
class UsageChunk:
    """What the call has used so far and its cost in USD; replaces an earlier chunk."""

    usage: Usage
    cost: Decimal = Decimal(0)


Chunk = TextChunk | UsageChunk
OnText = Callable[[str], Awaitable[None]]


class Summarizer(Protocol):
    """The caller's model, as far as condensing needs it."""

    @property
    def supports_images(self) -> bool:
        """Whether image blocks may be sent."""
        ...

    def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:
        """Yield the answer as it is written; any exception is a failed call."""
        ...


@dataclass(slots=True)
class Transcription:
    """What one call has answered so far."""

    pieces: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)

    @property
    def text(self) -> str:
        """The answer, without surrounding white space."""
        return "".join(self.pieces).strip()


async def transcribe(
    summarizer: Summarizer, request: SummaryRequest, on_text: OnText
) -> Transcription:
    """Return the whole answer, telling ``on_text`` each piece.

    Raises SummaryFailed, with the cost so far, when the call raises.
    """
    answer = Transcription()
    async with aclosing(_chunks(summarizer, request, answer)) as chunks:
        async for chunk in chunks:
            match chunk:
                case TextChunk(text):
                    answer.pieces.append(text)
                    await on_text(text)
                case UsageChunk(usage, cost):
                    answer.usage, answer.cost = usage, cost
    return answer


async def _chunks(
    summarizer: Summarizer, request: SummaryRequest, answer: Transcription
) -> AsyncGenerator[Chunk]:
    """Yield the call's chunks; whatever happens to the listener, the call is closed."""
    stream: AsyncIterator[Chunk] | None = None
    try:
        stream = summarizer.stream(request)
        async for chunk in stream:
            yield chunk
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise SummaryFailed(
            f"Condensing API call failed: {reason}", details=describe(error), cost=answer.cost
        ) from error
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
