"""One way to condense, at every cut of a session, each cut going on from the one before."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from condense.condenser import Condenser, Hooks
from condense.errors import CondenseError
from condense.evaluation.files import AttachRecordedFiles
from condense.evaluation.recordings import Cut, Recording
from condense.history import replace_hidden
from condense.messages import Message
from condense.situation import Budget, Policy, Reduction, Situation, Trigger
from condense.strategies import Strategy
from condense.tokens import TokenCount, TokenCounter
from condense.writing.attachments import attach_ledger
from condense.writing.summarizer import Chunk, SummaryRequest, TextChunk

# Who condensed the recorded session had read all of it. This reply says so, so that a strategy
# may hide the newest messages too, as the recorded condensation did.
READ = Message(role="assistant", content="Read.", id="read")
# A summary in place of a recorded one takes as much of what it hides as those did.
SUMMARY_SHARE = 0.037
WINDOW = 200_000  # tokens, at least, unless one is given: that of Claude's models


@dataclass(frozen=True, slots=True)
class Contender:
    """A strategy under the name by which it is compared.

    It is ``complete`` with what an application attaches: the ledger and the folded files.
    """

    name: str
    strategy: Strategy
    complete: bool = False


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


@dataclass(frozen=True, slots=True)
class Replay:
    """How sessions are condensed again: by whom, counted how, in which window if in any."""

    contender: Contender
    counter: TokenCounter
    window: int | None = None

    async def run(self, recording: Recording, cuts: Sequence[Cut]) -> AsyncIterator[Step]:
        """Yield what becomes of the session at each cut."""
        seen: tuple[Message, ...] = ()
        start = 0
        for cut in cuts:
            before = (*seen, *recording.messages[start : cut.at])
            reduction = await self._reduction(before, cut, recording)
            if reduction:
                placed = replace(reduction.message, seq=cut.at)
                shown = replace_hidden((*before, _read(cut)), reduction.hidden, placed)
                seen = tuple(message for message in shown if message.id != READ.id)
            else:
                seen = before
            yield Step(cut, before, seen, reduction)
            start = cut.at

    async def _reduction(
        self, before: tuple[Message, ...], cut: Cut, recording: Recording
    ) -> Reduction | None:
        files = AttachRecordedFiles(".", messages=recording.messages[: cut.at])
        hooks = Hooks(after=(attach_ledger, files)) if self.contender.complete else None
        condenser = Condenser(
            StandIn(cut.summary),
            self.counter,
            (self.contender.strategy,),
            policy=Policy(small_window=0),
            hooks=hooks,
        )
        try:
            return await condenser.fit(self._situation((*before, _read(cut))))
        except CondenseError:
            return None

    def _situation(self, effective: tuple[Message, ...]) -> Situation:
        """Return a situation in which the strategy has to act: by hand, or since it is too large.

        A truncation does so only in a window that the context fills to the last token.
        """
        tokens = sum(message.tokens or self.counter.count(message.content) for message in effective)
        truncates = self.contender.strategy.kind == "truncated"
        window = self.window or (tokens if truncates else max(2 * tokens, WINDOW))
        window = min(window, tokens) if truncates else window
        return Situation(
            effective=effective,
            tokens=TokenCount(tokens),
            budget=Budget(window=window, max_output=1),
            trigger=Trigger.AUTO if truncates else Trigger.MANUAL,
        )


def _read(cut: Cut) -> Message:
    return replace(READ, seq=cut.at, tokens=0)
