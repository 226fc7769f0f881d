"""Summarise all that the model has read, and start afresh from the summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from condense.boundaries import unread_tail
from condense.commands import command_blocks
from condense.errors import SummaryFailed
from condense.messages import Block, Message, OpaqueBlock, Tags, TextBlock
from condense.prompts import condense_instruction, summary_preface, summary_system
from condense.prompts.answer import Answer, read_answer
from condense.shaping import (
    inject_synthetic_results,
    replace_images,
    shape_request,
    tools_to_text,
)
from condense.situation import Reduction, Situation, Trigger
from condense.strategies.base import Gauge, Kit, require_enough
from condense.strategies.newest_request import Carried, carry, newest_request
from condense.summarizer import SummaryRequest, Transcription, transcribe

HEADING = "## Conversation Summary"
WORKFLOWS = (
    "<system-reminder>\n## Active Workflows\n"
    "The following directives must be maintained across all future condensings:\n"
    "{blocks}\n</system-reminder>"
)
# Kept free beside the unread messages: summaries measured on real sessions took 3.7 % of what
# they hid, and one with much to say about little takes more.
SUMMARY_SHARE = 0.1
UNREAD = (
    "The newest {messages} messages (about {tokens} tokens, {results} tool results among them) do "
    "not fit into the context and are hidden before they were read. Run a tool again in a way "
    "that answers less, or search the history."
)
THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Split:
    """What to hide, and what the model has not read: kept, or else hidden as well."""

    hidden: tuple[Message, ...]
    unread: tuple[Message, ...]
    keeps_unread: bool


class FreshStart:
    """Hides everything before the unread messages behind one summary."""

    name = "fresh_start"
    kind: Literal["condensed"] = "condensed"

    def prompt_for(self, situation: Situation) -> str:
        """Return the instruction that ends the summary request."""
        return condense_instruction(situation.prompt, situation.focus)

    async def reduce(self, situation: Situation, kit: Kit) -> Reduction:
        """Return a condensation.

        Raises NothingToCondense before any call is made, and SummaryFailed after a failed one.
        """
        gauge = Gauge(situation, kit.counter)
        split = split_history(situation, gauge)
        require_enough(situation.effective, split.hidden)
        prompt = self.prompt_for(situation)
        request = flattened_request(
            split.hidden,
            prompt,
            supports_images=kit.summarizer.supports_images,
            max_output=situation.budget.reserved,
        )
        written = await transcribe(kit.summarizer, request, kit.on_text)
        answer = _usable(written)
        content, notes = await _Recap(situation, split, gauge, kit).write(answer.summary)
        message = _summary_message(content, split.hidden[-1], kit)
        ids = tuple(hidden.id for hidden in split.hidden)
        before, after = gauge.compare(ids, message)
        return Reduction(
            kind=self.kind,
            strategy=self.name,
            message=message,
            hidden=ids,
            tokens_before=before,
            tokens_after=after,
            summary=answer.summary,
            analysis=answer.analysis,
            prompt=prompt,
            usage=written.usage,
            cost=written.cost,
            notes=notes,
        )


def split_history(situation: Situation, gauge: Gauge) -> Split:
    """Return what to hide: all that was read, and the unread rest too where it cannot stay."""
    cut = unread_tail(situation.effective)
    read, unread = situation.effective[:cut], situation.effective[cut:]
    room = gauge.limit * (1 - SUMMARY_SHARE) - gauge.fixed
    too_large = situation.is_over or situation.trigger is Trigger.FORCED
    keeps = not too_large or gauge.size(unread) <= room
    return Split(read if keeps else read + unread, unread, keeps_unread=keeps)


def flattened_request(
    hidden: Sequence[Message], instruction: str, *, supports_images: bool, max_output: int
) -> SummaryRequest:
    """Return the request for a summary as plain text, valid without any tools.

    A strategy that keeps the conversation's prompt cache would build this differently.
    """
    last = Message(role="user", content=instruction, id="instruction")
    messages = (*inject_synthetic_results(hidden), last)
    if not supports_images:
        messages = replace_images(messages)
    flat = [tools_to_text(_without_thinking(message)) for message in messages]
    return SummaryRequest(summary_system(), shape_request(flat), max_output)


def _without_thinking(message: Message) -> Message:
    """Leave out reasoning: it is signed for the model and settings that wrote it."""
    blocks = tuple(block for block in message.blocks if not _is_thinking(block))
    return message if len(blocks) == len(message.blocks) else message.with_content(blocks)


def _is_thinking(block: Block) -> bool:
    return isinstance(block, OpaqueBlock) and block.data.get("type") in THINKING


def _usable(written: Transcription) -> Answer:
    answer = read_answer(written.text)
    if not answer.summary:
        details = f"The answer held no summary:\n{written.text}" if written.text else ""
        raise SummaryFailed("Failed to condense context", details=details, cost=written.cost)
    return answer


def _summary_message(content: tuple[Block, ...], last: Message, kit: Kit) -> Message:
    return Message(
        role="user",
        content=content,
        id=kit.new_id(),
        position=last.order[0],
        tags=Tags(condense_id=kit.new_id()),
        tokens=kit.counter.count(content),
    )


class _Recap:
    """Writes what the model reads instead of the hidden messages."""

    def __init__(self, situation: Situation, split: Split, gauge: Gauge, kit: Kit) -> None:
        self.situation = situation
        self.split = split
        self.gauge = gauge
        self.counter = kit.counter

    async def write(self, summary: str) -> tuple[tuple[Block, ...], tuple[str, ...]]:
        """Return the summary message's blocks, and notes for people."""
        head = TextBlock(f"{HEADING}\n{summary_preface()}\n\n{summary}")
        dropped = self.dropped()
        environment = await self.environment()
        rest = (*self.workflows(), *dropped.blocks, *environment.blocks)
        carried = self.newest_request((head, *rest))
        notes = (*dropped.notes, *carried.notes, *environment.notes)
        return (head, *carried.blocks, *rest), notes

    def newest_request(self, written: tuple[Block, ...]) -> Carried:
        """Carry the request being worked on, unless all is answered or it stays visible."""
        kept = self.split.unread if self.split.keeps_unread else ()
        if not self.split.unread or newest_request(kept):
            return Carried()
        taken = self.gauge.fixed + self.counter.count(written) + self.gauge.size(kept)
        return carry(newest_request(self.split.hidden), self.gauge.limit - taken, self.counter)

    def workflows(self) -> tuple[Block, ...]:
        """Repeat the directives of what is hidden, earlier condensations included."""
        kept = {message.id for message in self.split.unread if self.split.keeps_unread}
        blocks = command_blocks(
            message
            for message in self.situation.history or self.situation.effective
            if message.id not in kept and _counts(message)
        )
        return (TextBlock(WORKFLOWS.format(blocks="\n".join(blocks))),) if blocks else ()

    def dropped(self) -> Carried:
        """Tell the model, and people, of unread messages that had to be hidden too."""
        if self.split.keeps_unread:
            return Carried()
        results = [result for message in self.split.unread for result in message.tool_results]
        tokens = self.gauge.size(self.split.unread)
        text = UNREAD.format(messages=len(self.split.unread), tokens=tokens, results=len(results))
        return Carried((TextBlock(f"<system-reminder>\n{text}\n</system-reminder>"),), (text,))

    async def environment(self) -> Carried:
        """Gather the environment's details, for any run but a manual one."""
        gather = self.situation.environment
        if gather is None or self.situation.trigger is Trigger.MANUAL:
            return Carried()
        try:
            details = await gather()
        except Exception as error:  # noqa: BLE001 - a summary already paid for is worth more
            return Carried(notes=(f"The environment's details are missing: {error}",))
        return Carried((TextBlock(details),) if details.strip() else ())


def _counts(message: Message) -> bool:
    return message.tags.rewind_parent is None and not message.tags.undone
