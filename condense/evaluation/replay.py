"""One strategy at every cut of a session, each cut going on from the one before."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from condense.condenser import Condenser
from condense.errors import CondenseError
from condense.evaluation.recordings import Cut, Recording
from condense.history import replace_hidden
from condense.messages import Message
from condense.situation import Budget, Policy, Reduction, Situation, Trigger
from condense.strategies import Strategy
from condense.tokens import TokenCount, TokenCounter
from condense.writing.summarizer import Chunk, SummaryRequest, TextChunk

# Who condensed the recorded session had read all of it. This reply says so, so that a strategy
# may hide the newest messages too, as the recorded condensation did.
READ = Message(role="assistant", content="Read.", id="read")
# A summary in place of a recorded one takes as much of what it hides as those did.
SUMMARY_SHARE = 0.037


@dataclass(frozen=True, slots=True)
class Step:
    """What stood before and after one cut; no reduction where the strategy could make none."""

    cut: Cut
    before: tuple[Message, ...]
    after: tuple[Message, ...]
    reduction: Reduction | None


class StandIn:
    """A summariser without a model: the recorded summary, or else an excerpt of the replies."""

    supports_images = False
    caches_prompts = False

    def __init__(self, summary: str) -> None:
        """Take the recorded summary, empty where there is none."""
        self.summary = summary

    async def stream(self, request: SummaryRequest) -> AsyncIterator[Chunk]:
        """Yield the summary."""
        yield TextChunk(self.summary or excerpt(request.messages))


def excerpt(messages: Sequence[Message]) -> str:
    """Return the first line of each reply, the newest that fit into the usual share."""
    room = SUMMARY_SHARE * sum(len(message.text) for message in messages)
    lines: list[str] = []
    for message in reversed(messages):
        line = message.text.strip().partition("\n")[0]
        if message.role == "assistant" and line:
            room -= len(line)
            if room < 0 and lines:
                break
            lines.append(line)
    return "\n".join(reversed(lines)) or "Nothing was said."


async def replay(
    recording: Recording, cuts: Sequence[Cut], strategy: Strategy, counter: TokenCounter
) -> AsyncIterator[Step]:
    """Yield what the strategy makes of the session at each cut."""
    seen: tuple[Message, ...] = ()
    start = 0
    for cut in cuts:
        before = (*seen, *recording.messages[start : cut.at])
        reduction = await _reduction(before, cut, strategy, counter)
        if reduction:
            placed = replace(reduction.message, seq=cut.at)
            shown = replace_hidden((*before, _read(cut)), reduction.hidden, placed)
            seen = tuple(message for message in shown if message.id != READ.id)
        else:
            seen = before
        yield Step(cut, before, seen, reduction)
        start = cut.at


def _read(cut: Cut) -> Message:
    return replace(READ, seq=cut.at, tokens=0)


async def _reduction(
    before: tuple[Message, ...], cut: Cut, strategy: Strategy, counter: TokenCounter
) -> Reduction | None:
    situation = _situation((*before, _read(cut)), strategy, counter)
    condenser = Condenser(StandIn(cut.summary), counter, (strategy,), policy=Policy(small_window=0))
    try:
        return await condenser.fit(situation)
    except CondenseError:
        return None


def _situation(
    effective: tuple[Message, ...], strategy: Strategy, counter: TokenCounter
) -> Situation:
    """Return a situation in which the strategy has to act: by hand, or since it is too large."""
    tokens = sum(message.tokens or counter.count(message.content) for message in effective)
    truncates = strategy.kind == "truncated"
    return Situation(
        effective=effective,
        tokens=TokenCount(tokens),
        budget=Budget(window=tokens if truncates else max(2 * tokens, 200_000), max_output=1),
        trigger=Trigger.AUTO if truncates else Trigger.MANUAL,
    )
