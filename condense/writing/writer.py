"""Writers: have one summary written, in the cheapest form of request that fits into the window."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from condense.errors import NothingToCondense, SummaryFailed, SummaryOverflow
from condense.messages import Message, OpaqueBlock
from condense.prompts import (
    aligned_instruction,
    merge_instruction,
    part_instruction,
    summary_system,
)
from condense.prompts.parsed import ParsedSummary, parse_summary
from condense.situation import Budget, Gauge, Situation
from condense.tokens import TokenCounter, count_messages
from condense.writing.requests import (
    Part,
    aligned_request,
    compaction_request,
    flatten,
    flattened_request,
    split_history,
    split_texts,
    without_old_images,
)
from condense.writing.summarizer import (
    Bill,
    OnText,
    Summarizer,
    SummaryRequest,
    Transcription,
    budget_of,
    caches_prompts,
    compacts,
    transcribe,
)

# Of the window, as in Kilo: a part with its instruction, so that a wrong estimate still fits.
PART_SHARE = 0.6
# Kilo's numbers: calls at the same time, and how often summaries are summarised again.
PARALLEL, DEPTH = 3, 3
# A full part whose summary is hardly shorter is no summary; the others would cost as much in vain.
LARGEST_SUMMARY = 0.9

Ask = Callable[[SummaryRequest], Awaitable[ParsedSummary]]
AskOne = Callable[[Part, int, int], Awaitable[ParsedSummary]]

CALLED_A_TOOL = "The model called a tool instead of summarising; it was asked again without tools."
CUT = "The summary was cut off: it reached the most tokens that an answer may take"
NO_COMPACTION = "This model's provider makes no compactions of its own"
NO_ROOM = "The history does not fit into one call, so the provider cannot compact it"
NO_BLOCK = "The provider's answer held no compaction"
IN_PARTS = "The history did not fit into one call and was summarised in {count} parts."


@dataclass(frozen=True, slots=True)
class Written:
    """A summary, the scratch text that came with it, and sentences for people."""

    summary: str
    analysis: str = ""
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> "Written":
        """Return the same with further notes."""
        return replace(self, notes=(*self.notes, *notes))


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
        request = self._aligned(hidden, instruction) or self._whole(shown, instruction)
        refused: SummaryOverflow | None = None
        if request:
            try:
                return await self._write_whole(request, shown, instruction)
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
        if not compacts(self.summarizer):
            raise NothingToCondense(NO_COMPACTION)
        size = self.gauge.fixed + self.gauge.size(hidden) + self.counter.count(instruction)
        if not self._fits(size, self.gauge.cautious_scale):
            raise NothingToCondense(NO_ROOM)
        images = self.summarizer.supports_images
        request = compaction_request(self.situation, hidden, instruction, supports_images=images)
        answer = await transcribe(self.summarizer, request, self.on_text, self.bill)
        written = self._written(self._read(answer))
        if answer.block is None:
            raise SummaryFailed(NO_BLOCK, cost=self.bill.cost, calls=len(self.bill.calls))
        return written, OpaqueBlock(answer.block)

    async def merge(self, texts: Sequence[str], instruction: str) -> Written:
        """Return one summary of several; raise SummaryFailed where the call fails."""
        messages = [Message(role="user", content=text) for text in texts]
        output = self.budget.reserved
        asking = merge_instruction(instruction)
        return self._written(
            await self._ask(flattened_request(messages, asking, max_output=output))
        )

    def _shown(self, hidden: Sequence[Message]) -> Sequence[Message]:
        """Return what a flattened request shows: of images, only the newest prompt's."""
        if not (hidden and self.summarizer.supports_images):
            return hidden
        effective = self.situation.effective
        start = next((at for at, one in enumerate(effective) if one.id == hidden[0].id), None)
        # What is hidden already stands before all that is visible.
        seen = (*hidden, *effective) if start is None else effective[start:]
        return without_old_images(hidden, seen)

    def _aligned(self, hidden: Sequence[Message], instruction: str) -> SummaryRequest | None:
        """Return the request that reads the history from the cache.

        None without one or room, and where what is hidden is not how the history begins.
        """
        begins = not hidden or hidden[0].id == self.situation.effective[0].id
        if not (begins and caches_prompts(self.summarizer)):
            return None
        asking = self.counter.count(aligned_instruction(instruction))
        size = self.gauge.fixed + self.gauge.size(hidden) + asking
        if not self._fits(size, self.gauge.cautious_scale):
            return None
        images = self.summarizer.supports_images
        return aligned_request(self.situation, hidden, instruction, supports_images=images)

    def _whole(self, shown: Sequence[Message], instruction: str) -> SummaryRequest | None:
        """Return the request for all of it at once, None where only parts would fit."""
        # What was refused may still fit as plain text; if not, to be told so costs nothing.
        size = self.gauge.size(shown) + self._overhead(instruction)
        if self._fits(size, self.gauge.scale) or self._part_limit(instruction) <= 0:
            return self._flattened(shown, instruction)
        return None

    async def _write_whole(
        self, request: SummaryRequest, shown: Sequence[Message], instruction: str
    ) -> Written:
        answer = await transcribe(self.summarizer, request, self.on_text, self.bill)
        if not (request.aligned and answer.called):
            return self._written(self._read(answer))
        answer = await transcribe(
            self.summarizer, self._flattened(shown, instruction), self.on_text, self.bill
        )
        return self._written(self._read(answer), CALLED_A_TOOL)

    async def _write_parts(self, shown: Sequence[Message], instruction: str, limit: int) -> Written:
        parts = split_history(shown, limit, self._flatten, self.counter)
        run = MapReduce(
            ask=self._ask,
            counter=self.counter,
            instruction=instruction,
            limit=limit,
            max_output=self.budget.reserved,
        )
        answer = await run.write(parts)
        return self._written(answer, IN_PARTS.format(count=len(parts)))

    async def _ask(self, request: SummaryRequest) -> ParsedSummary:
        answer = await transcribe(self.summarizer, request, self.on_text, self.bill)
        return self._read(answer)

    def _read(self, answer: Transcription) -> ParsedSummary:
        """Return the summary in an answer; raise SummaryFailed where there is none, or half of one.

        What the end of a summary tells, current work and next step, nothing else would tell.
        """
        summary = parse_summary(answer.text)
        if answer.is_cut:
            said, details = CUT, answer.text
        elif summary.summary:
            return summary
        else:
            said = "Failed to condense context"
            details = f"The answer held no summary:\n{answer.text}" if answer.text else ""
        raise SummaryFailed(said, details=details, cost=self.bill.cost, calls=len(self.bill.calls))

    @staticmethod
    def _written(answer: ParsedSummary, *notes: str) -> Written:
        return Written(answer.summary, answer.analysis, notes)

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
        budget = self.budget
        overhead = self._overhead(part_instruction(instruction, 1, 1))
        room = min(PART_SHARE * budget.window, budget.capacity)
        room /= self.gauge.scale
        if refused_size is not None:
            room = min(room, PART_SHARE * refused_size)
        limit = int(room) - overhead
        return limit if limit >= overhead else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MapReduce:
    """Asks for a summary of every part, a few at a time, until one summary is left.

    ``limit`` is the most tokens of a part, ``max_output`` the most of an answer.
    """

    ask: Ask
    counter: TokenCounter
    instruction: str
    limit: int
    max_output: int

    async def write(self, parts: Sequence[Part]) -> ParsedSummary:
        """Return one summary of all parts, joined from several where DEPTH levels leave more.

        Raises SummaryFailed as soon as one call fails; calls that still run are cancelled.
        """
        answers = await self._ask_all(parts, self._summarised)
        analyses = [answer.analysis for answer in answers]
        for _ in range(DEPTH - 1):
            if len(answers) == 1:
                break
            merged = split_texts((answer.summary for answer in answers), self.limit, self.counter)
            answers = await self._ask_all(merged, self._merged)
            analyses += [answer.analysis for answer in answers]
        return ParsedSummary(_joined(answer.summary for answer in answers), _joined(analyses))

    async def _summarised(self, part: Part, number: int, count: int) -> ParsedSummary:
        answer = await self._ask(part, part_instruction(self.instruction, number, count))
        tokens, size = self.counter.count(answer.summary), count_messages(part, self.counter)
        if tokens > max(LARGEST_SUMMARY * size, self.limit / 2):
            raise SummaryFailed(
                "Failed to condense context",
                details=f"A part's summary is as long as the part:\n{answer.summary}",
            )
        return answer

    async def _merged(self, part: Part, _number: int, _count: int) -> ParsedSummary:
        if len(part) == 1:
            return ParsedSummary(part[0].text)
        return await self._ask(part, merge_instruction(self.instruction))

    async def _ask_all(self, parts: Sequence[Part], ask_one: AskOne) -> list[ParsedSummary]:
        gate, count = asyncio.Semaphore(PARALLEL), len(parts)
        failures: list[Exception] = []

        async def one(number: int, part: Part) -> ParsedSummary:
            async with gate:
                if failures:
                    raise asyncio.CancelledError
                try:
                    return await ask_one(part, number, count)
                except Exception as error:
                    failures.append(error)
                    raise

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(n, part)) for n, part in enumerate(parts, start=1)]
        except ExceptionGroup:
            raise failures[0] from failures[0].__cause__
        return [task.result() for task in tasks]

    async def _ask(self, part: Part, instruction: str) -> ParsedSummary:
        return await self.ask(flattened_request(part, instruction, max_output=self.max_output))


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, texts))
