"""Writers: have one summary written, in the cheapest form of request that fits into the window."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from condense.budget.budget import Budget
from condense.budget.situation import Gauge, Situation
from condense.errors import NothingToCondense, SummaryFailed, SummaryOverflow
from condense.messages import Message, OpaqueBlock
from condense.prompts import framed, summary_system
from condense.prompts.reply_parser import ParsedSummary, parse_summary
from condense.summaries.summarizer import (
    Bill,
    OnText,
    Summarizer,
    SummaryRequest,
    Transcription,
    budget_of,
    transcribe,
)
from condense.summaries.summary_request import (
    Part,
    aligned_request,
    flatten,
    flattened_request,
    split_history,
    split_texts,
    without_old_images,
)
from condense.tokens.counters import TokenCounter, count_messages

# Of the window, as in Kilo: a part with its instruction, so that a wrong estimate still fits.
PART_SHARE = 0.6
# Kilo's numbers: calls at the same time, and how often summaries are summarised again.
PARALLEL, DEPTH = 3, 3
# A full part whose summary is hardly shorter is no summary; the others would cost as much in vain.
LARGEST_SUMMARY = 0.9

CALLED_A_TOOL = "The model called a tool instead of summarising; it was asked again without tools."
CUT = "The summary was cut off: it reached the most tokens that an answer may take"
NO_COMPACTION = "This model's provider makes no compactions of its own"
NO_ROOM = "The history does not fit into one call, so the provider cannot compact it"
NO_BLOCK = "The provider's answer held no compaction"
IN_PARTS = "The history did not fit into one call and was summarised in {count} parts."
TOO_LONG = "A part's summary is as long as the part:\n{summary}"
FAILED = "Failed to condense context"
NO_SUMMARY = "The answer held no summary:\n{text}"


@dataclass(frozen=True, slots=True)
class Written:
    """A summary, the scratch text that came with it, and sentences for people."""

    summary: str
    analysis: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One attempt's way to the model; every call goes on the ``bill``."""

    situation: Situation
    gauge: Gauge
    counter: TokenCounter
    summarizer: Summarizer
    on_text: OnText
    bill: Bill

    @property
    def budget(self) -> Budget:
        """The limits of the model that writes."""
        return budget_of(self.summarizer, self.situation.budget)

    async def write(
        self, hidden: Sequence[Message], instruction: str, *, known: Sequence[Message] = ()
    ) -> Written:
        """Return a summary of ``hidden``.

        What is ``known`` of it is left out wherever the request is not the conversation's own.
        Raises SummaryFailed after the first call that fails. An answer that calls a tool, and a
        call that turns out to be too long, are no failures yet: they are made in another form.
        """
        shown = [message for message in self._shown(hidden) if message not in known]
        request = None
        # The history is read from the cache where the request begins as the conversation's own.
        begins = not hidden or hidden[0].id == self.situation.effective[0].id
        if begins and getattr(self.summarizer, "caches_prompts", False):
            request = self._own_request(hidden, framed("aligned", instruction))
        request = request or self._whole(shown, instruction)
        refused: SummaryOverflow | None = None
        if request:
            try:
                answer = await self._answer(request)
                if not (request.aligned and answer.called):
                    return _written(self._read(answer))
                answer = await self._answer(self._flattened(shown, instruction))
                return _written(self._read(answer), CALLED_A_TOOL)
            except SummaryOverflow as error:
                refused = error
        size = self.gauge.size(hidden) + self._overhead(instruction)
        limit = self._part_limit(instruction, refused_size=size if refused else None)
        if refused and limit <= 0:
            raise refused
        return await self._write_parts(shown, instruction, limit)

    async def compact(
        self, hidden: Sequence[Message], instruction: str
    ) -> tuple[Written, OpaqueBlock]:
        """Return the provider's own compaction of ``hidden``, and what people can read of it.

        Raises NothingToCondense before any call where it makes none, and SummaryFailed after a
        call that fails.
        """
        if not getattr(self.summarizer, "compacts", False):
            raise NothingToCondense(NO_COMPACTION)
        request = self._own_request(hidden, instruction, compaction=True)
        if request is None:
            raise NothingToCondense(NO_ROOM)
        answer = await self._answer(request)
        written = _written(self._read(answer))
        if answer.block is None:
            raise SummaryFailed(NO_BLOCK, cost=self.bill.cost, calls=len(self.bill.calls))
        return written, OpaqueBlock(answer.block)

    async def merge(self, texts: Sequence[str], instruction: str) -> Written:
        """Return one summary of several; raise SummaryFailed where the call fails."""
        messages = [Message(role="user", content=text) for text in texts]
        return _written(await self._ask(messages, framed("merge", instruction)))

    def _shown(self, hidden: Sequence[Message]) -> Sequence[Message]:
        """Return what a flattened request shows: of images, only the newest prompt's."""
        if not (hidden and self.summarizer.supports_images):
            return hidden
        effective = self.situation.effective
        start = next((at for at, one in enumerate(effective) if one.id == hidden[0].id), None)
        # What is hidden already stands before all that is visible.
        seen = (*hidden, *effective) if start is None else effective[start:]
        return without_old_images(hidden, seen)

    def _own_request(
        self, hidden: Sequence[Message], asking: str, *, compaction: bool = False
    ) -> SummaryRequest | None:
        """Return the conversation's own request with this question, None without room."""
        size = self.gauge.fixed + self.gauge.size(hidden) + self.counter.count(asking)
        if not self._fits(size, self.gauge.cautious_scale):
            return None
        images = self.summarizer.supports_images
        return aligned_request(
            self.situation, hidden, asking, supports_images=images, compaction=compaction
        )

    def _whole(self, shown: Sequence[Message], instruction: str) -> SummaryRequest | None:
        """Return the request for all of it at once, None where only parts would fit."""
        # What was refused may still fit as plain text; if not, to be told so costs nothing.
        size = self.gauge.size(shown) + self._overhead(instruction)
        if self._fits(size, self.gauge.scale) or self._part_limit(instruction) <= 0:
            return self._flattened(shown, instruction)
        return None

    async def _write_parts(self, shown: Sequence[Message], instruction: str, limit: int) -> Written:
        """Return one summary of parts of ``limit`` tokens, several where DEPTH levels leave more.

        Raises SummaryFailed as soon as one call fails; calls that still run are cancelled.
        """
        parts = split_history(shown, limit, self._flatten, self.counter)
        count, note = len(parts), IN_PARTS.format(count=len(parts))
        asking = [
            framed("part", instruction, number=number, count=count)
            for number in range(1, count + 1)
        ]
        pairs = zip(parts, asking, strict=True)
        answers = await _gather([partial(self._part, *pair, limit) for pair in pairs])
        analyses = [answer.analysis for answer in answers]
        merging = framed("merge", instruction)
        for _ in range(DEPTH - 1):
            if len(answers) == 1:
                break
            merged = split_texts((answer.summary for answer in answers), limit, self.counter)
            answers = await _gather([partial(self._merged, part, merging) for part in merged])
            analyses += [answer.analysis for answer in answers]
        return Written(_joined([one.summary for one in answers]), _joined(analyses), (note,))

    async def _part(self, part: Part, asking: str, limit: int) -> ParsedSummary:
        answer = await self._ask(part, asking)
        tokens, size = self.counter.count(answer.summary), count_messages(part, self.counter)
        if tokens > max(LARGEST_SUMMARY * size, limit / 2):
            raise SummaryFailed(FAILED, details=TOO_LONG.format(summary=answer.summary))
        return answer

    async def _merged(self, part: Part, asking: str) -> ParsedSummary:
        return ParsedSummary(part[0].text) if len(part) == 1 else await self._ask(part, asking)

    async def _ask(self, flat: Sequence[Message], asking: str) -> ParsedSummary:
        request = flattened_request(flat, asking, max_output=self.budget.reserved)
        return self._read(await self._answer(request))

    async def _answer(self, request: SummaryRequest) -> Transcription:
        return await transcribe(self.summarizer, request, self.on_text, self.bill)

    def _read(self, answer: Transcription) -> ParsedSummary:
        """Return the summary in an answer; raise SummaryFailed where there is none, or half of one.

        What the end of a summary tells, current work and next step, nothing else would tell.
        """
        summary, said, details = parse_summary(answer.text), CUT, answer.text
        if summary.summary and not answer.is_cut:
            return summary
        if not answer.is_cut:
            said, details = FAILED, answer.text and NO_SUMMARY.format(text=answer.text)
        raise SummaryFailed(said, details=details, cost=self.bill.cost, calls=len(self.bill.calls))

    def _flatten(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        return flatten(messages, supports_images=self.summarizer.supports_images)

    def _flattened(self, shown: Sequence[Message], instruction: str) -> SummaryRequest:
        return flattened_request(self._flatten(shown), instruction, max_output=self.budget.reserved)

    def _overhead(self, instruction: str) -> int:
        return self.counter.count(summary_system()) + self.counter.count(instruction)

    def _fits(self, tokens: int, scale: float) -> bool:
        """Whether a request of so many estimated tokens leaves room for the answer."""
        return tokens * scale <= self.budget.capacity

    def _part_limit(self, instruction: str, *, refused_size: int | None = None) -> int:
        """Return the most estimated tokens of a part; 0 where the window has no room for any.

        A window that the instruction nearly fills has none. A request that was refused shows that
        the estimate is too small, so a part is at most a share of that.
        """
        overhead = self._overhead(framed("part", instruction, number=1, count=1))
        room = min(PART_SHARE * self.budget.window, self.budget.capacity) / self.gauge.scale
        if refused_size is not None:
            room = min(room, PART_SHARE * refused_size)
        limit = int(room) - overhead
        return limit if limit >= overhead else 0


async def _gather(calls: Sequence[Callable[[], Awaitable[ParsedSummary]]]) -> list[ParsedSummary]:
    """Return the answers of calls, a few of which run at a time; the first failure ends all."""
    gate = asyncio.Semaphore(PARALLEL)
    failures: list[Exception] = []

    async def one(call: Callable[[], Awaitable[ParsedSummary]]) -> ParsedSummary:
        async with gate:
            if failures:
                raise asyncio.CancelledError
            try:
                return await call()
            except Exception as error:
                failures.append(error)
                raise

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(call)) for call in calls]
    except ExceptionGroup:
        raise failures[0] from failures[0].__cause__
    return [task.result() for task in tasks]


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, texts))


def _written(answer: ParsedSummary, *notes: str) -> Written:
    return Written(answer.summary, answer.analysis, notes)
