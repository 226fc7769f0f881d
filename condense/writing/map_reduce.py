"""Summaries of parts, and summaries of those, for a history that fits into no single call."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from condense.errors import SummaryFailed
from condense.prompts import merge_instruction, part_instruction
from condense.prompts.parsed import ParsedSummary
from condense.tokens import TokenCounter, count_messages
from condense.writing.parts import Part, split_texts
from condense.writing.requests import flattened_request
from condense.writing.summarizer import SummaryRequest

# Kilo's numbers: calls at the same time, and how often summaries are summarised again.
PARALLEL, DEPTH = 3, 3
# A full part whose summary is hardly shorter is no summary; the others would cost as much in vain.
LARGEST_SUMMARY = 0.9

Ask = Callable[[SummaryRequest], Awaitable[ParsedSummary]]
AskOne = Callable[[Part, int, int], Awaitable[ParsedSummary]]


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
