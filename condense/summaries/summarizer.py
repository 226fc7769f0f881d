"""The model that writes summaries, as the engine asks for it, one call to it and its reply."""

import asyncio
import re
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Protocol

from condense.budget.budget import Budget
from condense.budget.situation import Reduction
from condense.errors import SummaryFailed, SummaryOverflow, Vetoed
from condense.loops import run_on
from condense.messages import Json, Message
from condense.prices import Usage
from condense.sentences import noop
from condense.summaries.summary_failures import describe, is_context_overflow
from condense.tokens.counters import TokenCounter
from condense.unicode_text import well_formed

CALL_FAILED = noop("Condensing API call failed: {error}")
_TAG = re.compile(r"<(/?)(analysis|summary)\b[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedSummary:
    """A summary without its tags, and the scratch text that came with it."""

    summary: str
    analysis: str = ""


def parse_summary(text: str) -> ParsedSummary:
    """Return the parts of an answer; without tags all of it is the summary.

    A closing tag may be missing. Only text around the summary is analysis, so a summary may quote
    these tags. The summary is empty when there is nothing but analysis.
    """
    text, before = _without_scratch(text)
    whole = len(text)
    tags = [tag for tag in _TAG.finditer(text) if tag[2].lower() == "summary"]
    start, inner = ([tag.span() for tag in tags if not tag[1]] or [(0, 0)])[0]
    end, tail = ([tag.span() for tag in tags if tag[1]] or [(whole, whole)])[-1]
    if end < inner or (not inner and text[tail:].strip()):
        end = tail = whole
    rest, after = _without_scratch(text[tail:])
    return ParsedSummary(_joined((text[:start], text[inner:end], rest)), _joined(before + after))


def _without_scratch(text: str) -> tuple[str, list[str]]:
    """Return the text without the outermost analysis before its summary, and that analysis."""
    # The first may lack either of its tags.
    kept: list[str] = []
    scratch: list[str] = []
    start = inner = end = depth = 0
    summary = len(text)
    for tag in _TAG.finditer(text):
        match bool(tag[1]), tag[2].lower(), depth:
            case False, "summary", 0:
                break
            case False, "summary", _:
                summary = min(summary, tag.start())
            case False, "analysis", _:
                start, inner = (start, inner) if depth else tag.span()
                depth += 1
            case True, "analysis", 0 | 1:
                start, inner = (start, inner) if depth else (end, end)
                kept.append(text[end:start])
                scratch.append(text[inner : tag.start()])
                depth, end, summary = 0, tag.end(), len(text)
            case True, "analysis", _:
                depth -= 1
    if depth:
        kept.append(text[end:start])
        scratch.append(text[inner:summary])
        end = summary
    return "".join((*kept, text[end:])), scratch


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join([text.strip() for text in texts if text.strip()])


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """One request for a summary; the last text of the last message is the instruction."""

    system: str
    messages: tuple[Message, ...]  # valid for the Messages API, with tools only if ``aligned``
    max_output: int = 0  # tokens of the answer, 0 for the model's own limit
    tools: tuple[Json, ...] = ()  # JSON specs
    aligned: bool = False  # a call of the conversation plus the instruction, to read its cache
    attempt_id: str = ""  # of the attempt in the log
    compaction: str = ""  # the instruction, in no message, for the provider's own compaction
    is_check: bool = False  # compares a summary with facts


@dataclass(frozen=True, slots=True)
class TextChunk:
    """The next piece of the summary."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallChunk:
    """The model calls a tool of that name, although it was asked for a summary."""

    name: str


@dataclass(frozen=True, slots=True)
class UsageChunk:
    """The call's usage so far and its cost in USD; replaces an earlier chunk."""

    usage: Usage
    cost: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class DiscardChunk:
    """All text before it was thinking, and is no part of the answer."""


@dataclass(frozen=True, slots=True)
class CutChunk:
    """The answer ended at the most tokens it may take, so the rest of it is missing."""


@dataclass(frozen=True, slots=True)
class CompactionChunk:
    """The provider's own compaction, to be sent first, unchanged; its text was yielded too."""

    block: Json  # may also name the ``model``, so that it is sent to no other


Chunk = TextChunk | DiscardChunk | ToolCallChunk | UsageChunk | CutChunk | CompactionChunk
OnText = Callable[[str], Awaitable[None]]


class Summarizer(Protocol):
    """The caller's model, as far as condensing needs it.

    One that is not the model that answers has a ``budget`` of its own; one whose provider can
    make a compaction of its own says so with a true ``compacts``.
    """

    @property
    def supports_images(self) -> bool:
        """True if image blocks may be sent."""

    @property
    def caches_prompts(self) -> bool:
        """True if a request that begins like the last one is cheaper; missing means no."""

    def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:
        """Yield the answer as it is written; any exception is a failed call.

        A ``CutChunk`` says that its end is missing, so that half a summary is not taken for whole.
        An exception with a true ``is_context_overflow`` says that the request was too long.
        """


def budget_of(summarizer: Summarizer, answering: Budget) -> Budget:
    """Return the limits of the model that writes: its own, or those of the one that answers."""
    own: Budget | None = getattr(summarizer, "budget", None)
    return own or answering


@dataclass(slots=True)
class Transcription:
    """The answer of one call so far, and the tool it called instead, if any."""

    pieces: list[str] = field(default_factory=list)
    called: str = ""
    is_cut: bool = False  # the end of the answer is missing
    block: Json | None = None  # a provider's compaction
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)

    @property
    def text(self) -> str:
        """The answer, without surrounding white space."""
        return well_formed("".join(self.pieces)).strip()

    @property
    def parsed(self) -> ParsedSummary:
        """The summary and the analysis in the answer."""
        return parse_summary(self.text)


@dataclass(frozen=True, slots=True)
class Bill:
    """All calls of one attempt, failed and unfinished ones included."""

    attempt_id: str = ""
    calls: list[Transcription] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """The tokens of all calls together."""
        return sum([call.usage for call in self.calls], Usage())

    @property
    def cost(self) -> Decimal:
        """The cost of all calls so far, in USD."""
        return sum([call.cost for call in self.calls], Decimal(0))


async def ignore(_text: str) -> None:
    """Ignore a piece of the summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The condenser's tools for a strategy: the model, the counter, ids, and a bill."""

    summarizer: Summarizer
    counter: TokenCounter
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())  # fresh at each call
    on_text: OnText = ignore  # gets the summary as it is written
    bill: Bill = field(default_factory=Bill)  # every model call goes on it
    is_enough: Callable[[Reduction], bool] = lambda _: True  # True if this hides enough
    lacking: tuple[str, ...] = ()  # faults of this attempt's rejected summary, one sentence each
    loop: asyncio.AbstractEventLoop | None = None  # on which the model is called, if given


async def transcribe(request: SummaryRequest, kit: Kit) -> Transcription:
    """Return the whole answer; pass each piece to ``on_text``, and put the call on the bill.

    Raises SummaryFailed when the call raises, SummaryOverflow if the error is that the request is
    too long, either with the cost of the whole bill; and Vetoed if the call does.
    """
    if kit.loop not in (None, asyncio.get_running_loop()):
        return await run_on(kit.loop, transcribe(request, kit))
    answer = Transcription()
    kit.bill.calls.append(answer)
    async with aclosing(_chunks(request, kit)) as chunks:
        async for chunk in chunks:
            match chunk:
                case TextChunk(text):
                    answer.pieces.append(text)
                    await kit.on_text(text)
                case DiscardChunk():
                    answer.pieces.clear()
                case ToolCallChunk(name):
                    answer.called = name
                case UsageChunk(usage, cost):
                    answer.usage, answer.cost = usage, cost
                case CutChunk():
                    answer.is_cut = True
                case CompactionChunk(block):
                    answer.block = block
    return answer


async def _chunks(request: SummaryRequest, kit: Kit) -> AsyncGenerator[Chunk]:
    """Yield the call's chunks; the call is closed even if the consumer fails."""
    stream: AsyncIterator[Chunk] | None = None
    try:
        stream = kit.summarizer.stream(replace(request, attempt_id=kit.bill.attempt_id))
        async for chunk in stream:
            yield chunk
    except Vetoed:
        raise
    except Exception as error:
        told = getattr(error, "is_context_overflow", False) is True
        kind = SummaryOverflow if told or is_context_overflow(error) else SummaryFailed
        said = CALL_FAILED.format(error=str(error) or type(error).__name__)
        bill, details = kit.bill, describe(error)
        raise kind(said, details=details, cost=bill.cost, calls=len(bill.calls)) from error
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
