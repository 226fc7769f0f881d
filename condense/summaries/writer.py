"""Writers: have one summary written, in the cheapest form of request that fits the window."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

from condense.budget.situation import Gauge
from condense.errors import NothingToCondense, SummaryFailed, SummaryOverflow
from condense.history.boundaries import safe_cuts
from condense.history.signed_blocks import without_compaction, without_thinking
from condense.messages import ImageBlock, Message, OpaqueBlock, TextBlock, flat_blocks
from condense.prompts import framed, load_prompt
from condense.requests.request import (
    INTERRUPTED,
    inject_synthetic_results,
    replace_images,
    shape_request,
)
from condense.requests.tools_as_text import tools_to_text
from condense.sentences import noop
from condense.summaries.summarizer import Kit, SummaryRequest, Transcription, budget_of, transcribe
from condense.tokens.counters import TokenCounter, count_messages

# A share of the window, as in Kilo: a part with its instruction fits also if estimates are wrong.
PART_SHARE = 0.6
# Kilo's numbers: calls at the same time, and how often summaries are summarised again.
PARALLEL, DEPTH = 3, 3
# Parts of one history that are read: of a longer one the first, which gives the subject, and the
# newest. More would cost tens of dollars, and say little of each.
MOST_PARTS = 20
# A full part whose summary is hardly shorter is no summary; the others would cost as much in vain.
LARGEST_SUMMARY = 0.9

CALLED_A_TOOL = noop(
    "The model called a tool instead of summarising; it was asked again without tools."
)
SUMMARY_CUT = noop("The summary was cut off: it reached the most tokens that an answer may take")
NO_COMPACTION = noop("This model's provider makes no compactions of its own")
NO_ROOM = noop("The history does not fit into one call, so the provider cannot compact it")
NO_BLOCK = noop("The provider's answer held no compaction")
IN_PARTS = noop("The history did not fit into one call and was summarised in {count} parts.")
MESSAGES_LEFT_OUT = noop(
    "The history was too long to be summarised whole: {count:,} messages after its first part were "
    "left out. They are hidden, and can still be read and found."
)
TOO_LONG = noop("A part's summary is as long as the part:\n{summary}")
FAILED = noop("Failed to condense context")
NO_SUMMARY = noop("The answer held no summary:\n{text}")
OLD_IMAGE = "[Image]"
GAP = "[{count} messages that came here were not summarised: there were too many.]"

Flatten = Callable[[Sequence[Message]], tuple[Message, ...]]
Part = tuple[Message, ...]
Piece = tuple[Part, int]


def without_old_images(
    hidden: Sequence[Message], effective: Sequence[Message]
) -> tuple[Message, ...]:
    """Return a part of a history without the images before the newest prompt of the whole.

    Those after the last words of a reply stay, also those from tools.
    """
    # The replies describe the others, and together they may weigh more than a call can carry.
    start = next((at for at, one in enumerate(effective) if one.id == hidden[0].id), None)
    # Messages that are hidden already stand before all visible ones.
    seen = (*hidden, *effective) if start is None else effective[start:]
    # Somebody said something in a message that is more than tool results.
    prompts = [
        index
        for index, one in enumerate(seen)
        if one.role == "user"
        and not one.is_marker
        and [True for block in one.blocks if isinstance(block, TextBlock | ImageBlock)]
    ]
    newest = prompts[-1] if prompts else len(seen)
    told = [i for i, one in enumerate(seen) if one.role == "assistant" and one.text.strip()]
    undescribed = told[-1] + 1 if told else 0
    old = min(newest, undescribed)
    return (
        *replace_images(hidden[:old], nested=True, text=OLD_IMAGE),
        *hidden[old:undescribed],
        *map(_with_images_beside, hidden[undescribed:]),
    )


def _with_images_beside(message: Message) -> Message:
    """Return a message with copies of its results' images, for results that become text."""
    inside = flat_blocks(message.tool_results)
    images = tuple([block for block in inside if isinstance(block, ImageBlock)])
    return message.with_content((*message.blocks, *images)) if images else message


def split_history(
    history: Sequence[Message], limit: int, flatten: Flatten, counter: TokenCounter
) -> tuple[Part, ...]:
    """Return the history as flat messages in parts of at most ``limit`` tokens, at safe cuts.

    Only a tool call and result that exceed the limit together are parted, and at last a text.
    """
    pieces: list[Piece] = []
    for start, end in pairwise(safe_cuts(history)):
        group = history[start:end]
        tokens, flat = count_messages(group, counter), flatten(group)
        if tokens <= limit:
            pieces.append((flat, tokens))
        else:
            pieces += chain.from_iterable(_portions(one, limit, counter) for one in flat)
    return _packed(pieces, limit)


def split_texts(texts: Iterable[str], limit: int, counter: TokenCounter) -> tuple[Part, ...]:
    """Return texts as messages in parts of at most ``limit`` tokens."""
    messages = [Message(role="user", content=text) for text in texts]
    pieces = [piece for message in messages for piece in _portions(message, limit, counter)]
    return _packed(pieces, limit)


def _packed(pieces: Iterable[Piece], limit: int) -> tuple[Part, ...]:
    parts: list[list[Message]] = []
    room = 0
    for messages, tokens in pieces:
        if not parts or tokens > room:
            parts.append([])
            room = limit
        parts[-1].extend(messages)
        room -= tokens
    return tuple(map(tuple, parts))


def _portions(message: Message, limit: int, counter: TokenCounter) -> Iterator[Piece]:
    """Yield the message, its text cut as often as needed; other blocks stay in one piece."""
    tokens = counter.count(message.content)
    text = message.text
    if tokens <= limit or len(text) < 2:  # noqa: PLR2004 - a single character cannot be cut
        yield (message,), tokens
        return
    step = math.ceil(len(text) / math.ceil(tokens / limit))
    step = min(step, len(text) - 1)
    for start in range(0, len(text), step):
        part = message.with_content(text[start : start + step])
        yield from _portions(part, limit, counter)
    others = tuple([block for block in message.blocks if not isinstance(block, TextBlock)])
    if others:
        yield (message.with_content(others),), counter.count(others)


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary, the scratch text that came with it, and sentences for people."""

    summary: str
    analysis: str = ""
    notes: tuple[str, ...] = ()


def flatten(messages: Sequence[Message], *, supports_images: bool) -> tuple[Message, ...]:
    """Return messages with tool calls and results as text, and without reasoning.

    Surroundings and recalled passages are left out: they are nobody's words.
    """
    said = [lasting for one in messages if (lasting := one.lasting).blocks]
    if not [True for one in said for block in one.blocks if not isinstance(block, TextBlock)]:
        return tuple(said)
    answered = inject_synthetic_results(said, INTERRUPTED)
    shown = answered if supports_images else replace_images(answered)
    plain = [without_thinking(without_compaction(message)) for message in shown]
    return tuple(map(tools_to_text, plain))


class Writer:
    """Calls the model for one attempt; the kit's bill adds up the calls."""

    def __init__(self, gauge: Gauge, kit: Kit) -> None:
        self.gauge = gauge
        self.kit = kit
        self.budget = budget_of(kit.summarizer, gauge.situation.budget)
        self._flatten = partial(flatten, supports_images=kit.summarizer.supports_images)

    async def write(
        self, hidden: Sequence[Message], instruction: str, *, known: Sequence[Message] = ()
    ) -> WrittenSummary:
        """Return a summary of ``hidden``.

        Messages that are ``known`` are left out unless the request is the conversation's own.
        Raises SummaryFailed after the first call that fails. An answer that calls a tool, and a
        call that turns out to be too long, are no failures yet: they are made in another form.
        """
        model, effective, request = self.kit.summarizer, self.gauge.situation.effective, None
        old = without_old_images(hidden, effective) if hidden and model.supports_images else hidden
        shown = [message for message in old if message not in known]
        # The history is read from the cache where the request begins as the conversation's own.
        begins = not hidden or hidden[0].id == effective[0].id
        if begins and getattr(model, "caches_prompts", False):
            request = self._own_request(hidden, framed("aligned", instruction))
        size = self.gauge.size(shown) + self._overhead(instruction)
        fits = size * self.gauge.scale <= self.budget.capacity
        # A refused request may still fit as plain text; if not, the answer to it costs nothing.
        if request is None and (fits or self._part_limit(instruction) <= 0):
            request = self._flat_request(self._flatten(shown), instruction)
        refused: SummaryOverflow | None = None
        if request:
            try:
                answer = await transcribe(request, self.kit)
                if not (request.aligned and answer.called):
                    return self._read(answer)
                request = self._flat_request(self._flatten(shown), instruction)
                return self._read(await transcribe(request, self.kit), CALLED_A_TOOL)
            except SummaryOverflow as error:
                refused = error
        size = self.gauge.size(hidden) + self._overhead(instruction)
        limit = self._part_limit(instruction, refused_size=size if refused else None)
        if refused and limit <= 0:
            raise refused
        return await self._write_parts(shown, instruction, limit)

    async def compact(
        self, hidden: Sequence[Message], instruction: str
    ) -> tuple[WrittenSummary, OpaqueBlock]:
        """Return the provider's own compaction of ``hidden``, and its readable text.

        Raises NothingToCondense before any call if it makes none, and SummaryFailed after a call
        that fails.
        """
        if not getattr(self.kit.summarizer, "compacts", False):
            raise NothingToCondense(NO_COMPACTION)
        request = self._own_request(hidden, instruction, compaction=True)
        if request is None:
            raise NothingToCondense(NO_ROOM)
        answer = await transcribe(request, self.kit)
        written, bill = self._read(answer), self.kit.bill
        if answer.block is None:
            raise SummaryFailed(NO_BLOCK, cost=bill.cost, calls=len(bill.calls))
        return written, OpaqueBlock(answer.block)

    async def merge(self, texts: Sequence[str], instruction: str) -> WrittenSummary:
        """Return one summary of several; raise SummaryFailed if the call fails."""
        messages = [Message(role="user", content=text) for text in texts]
        return await self._ask(messages, framed("merge", instruction))

    def _own_request(
        self, hidden: Sequence[Message], asking: str, *, compaction: bool = False
    ) -> SummaryRequest | None:
        """Return the conversation's own request, cut after ``hidden``, with this instruction.

        It begins like the last call, token for token, or no cache would know it: same system
        prompt, same tools, same messages with their tool and reasoning blocks. For a ``compaction``
        the instruction is no message: the provider compacts by it. None without room.
        """
        gauge, situation = self.gauge, self.gauge.situation
        size = gauge.fixed + gauge.size(hidden) + gauge.weigh(asking)
        if size * gauge.cautious_scale > self.budget.capacity:
            return None
        messages = hidden if compaction else (*hidden, Message("user", asking, "instruction"))
        return SummaryRequest(
            situation.system,
            shape_request(messages, supports_images=self.kit.summarizer.supports_images),
            situation.budget.reserved,
            situation.tools,
            aligned=True,
            compaction=asking if compaction else "",
        )

    async def _write_parts(
        self, shown: Sequence[Message], instruction: str, limit: int
    ) -> WrittenSummary:
        """Return one summary of parts of ``limit`` tokens; join those left after DEPTH levels.

        Of more than MOST_PARTS those after the first are left out, which the summary says. Raises
        SummaryFailed as soon as one call fails; calls that still run are cancelled.
        """
        first, *rest = split_history(shown, limit, self._flatten, self.kit.counter)
        beyond = rest[: 1 - MOST_PARTS]
        # A long message is in several pieces.
        left_out = len({message.id for part in beyond for message in part})
        parts = [first, *rest[len(beyond) :]]
        count = len(parts)
        notes = [IN_PARTS.format(count=count)]
        asking = [
            framed("part", instruction, number=number, count=count)
            for number in range(1, count + 1)
        ]
        pairs = zip(parts, asking, strict=True)
        answers = await _gather([partial(self._part, *pair, limit) for pair in pairs])
        if beyond:
            notes.append(MESSAGES_LEFT_OUT.format(count=left_out))
            answers.insert(1, WrittenSummary(GAP.format(count=left_out)))
        analyses = [answer.analysis for answer in answers]
        merging = framed("merge", instruction)
        for _ in range(DEPTH - 1):
            if len(answers) == 1:
                break
            texts = [answer.summary for answer in answers]
            merged = split_texts(texts, limit, self.kit.counter)
            answers = await _gather([partial(self._merged, part, merging) for part in merged])
            analyses += [answer.analysis for answer in answers]
        summary = "\n\n".join(filter(None, [answer.summary for answer in answers]))
        return WrittenSummary(summary, "\n\n".join(filter(None, analyses)), tuple(notes))

    async def _part(self, part: Part, asking: str, limit: int) -> WrittenSummary:
        answer = await self._ask(part, asking)
        tokens, size = self.gauge.weigh(answer.summary), self.gauge.size(part)
        if tokens > max(LARGEST_SUMMARY * size, limit / 2):
            raise SummaryFailed(FAILED, details=TOO_LONG.format(summary=answer.summary))
        return answer

    async def _merged(self, part: Part, asking: str) -> WrittenSummary:
        return WrittenSummary(part[0].text) if len(part) == 1 else await self._ask(part, asking)

    async def _ask(self, flat: Sequence[Message], asking: str) -> WrittenSummary:
        return self._read(await transcribe(self._flat_request(flat, asking), self.kit))

    def _read(self, answer: Transcription, *notes: str) -> WrittenSummary:
        """Return the summary in an answer; raise SummaryFailed if it is missing or cut."""
        # Only the end of a summary has the current work and the next step.
        parsed, said, details = answer.parsed, SUMMARY_CUT, answer.text
        if parsed.summary and not answer.is_cut:
            return WrittenSummary(parsed.summary, parsed.analysis, notes)
        if not answer.is_cut:
            said, details = FAILED, answer.text and NO_SUMMARY.format(text=answer.text)
        bill = self.kit.bill
        raise SummaryFailed(said, details=details, cost=bill.cost, calls=len(bill.calls))

    def _flat_request(self, flat: Sequence[Message], instruction: str) -> SummaryRequest:
        """Return the request for a summary of flat messages, valid without any tools."""
        messages = shape_request((*flat, Message("user", instruction, "instruction")))
        return SummaryRequest(load_prompt("summary_system"), messages, self.budget.reserved)

    def _overhead(self, instruction: str) -> int:
        return self.gauge.weigh(load_prompt("summary_system")) + self.gauge.weigh(instruction)

    def _part_limit(self, instruction: str, *, refused_size: int | None = None) -> int:
        """Return the most estimated tokens of a part; 0 if the window has no room for any."""
        # A window that the instruction nearly fills has none. A request that was refused shows that
        # the estimate is too small, so a part is at most a share of that.
        overhead = self._overhead(framed("part", instruction, number=1, count=1))
        room = min(PART_SHARE * self.budget.window, self.budget.capacity) / self.gauge.scale
        if refused_size is not None:
            room = min(room, PART_SHARE * refused_size)
        limit = int(room) - overhead
        return limit if limit >= overhead else 0


async def _gather(calls: Sequence[Callable[[], Awaitable[WrittenSummary]]]) -> list[WrittenSummary]:
    """Return the answers of calls, a few of which run at a time; the first failure ends all."""
    gate = asyncio.Semaphore(PARALLEL)
    failures: list[Exception] = []

    async def one(call: Callable[[], Awaitable[WrittenSummary]]) -> WrittenSummary:
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
