"""What each contender keeps, what that takes, and what it would cost."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from condense.evaluation.keeping import Kept, what_is_kept
from condense.evaluation.needs import needs_at
from condense.evaluation.reading import text_of
from condense.evaluation.recordings import Cut, Recording
from condense.evaluation.replay import Contender, Replay, Step
from condense.tokens import TokenCounter, count_messages
from condense.usage import Prices, Usage

# USD per million tokens, as Claude Sonnet's have been since 2024.
PRICES = Prices(
    input=Decimal(3),
    output=Decimal(15),
    cache_read=Decimal("0.30"),
    cache_write=Decimal("3.75"),
)


@dataclass(slots=True)
class Score:
    """One contender over all cuts; ``sizes`` are characters after and before each cut.

    Tokens are what stands after the cuts, all together. Costs are in USD: of the summary call,
    reading the conversation from the prompt cache (``aligned``) or sent anew (``flattened``), and
    of writing what stands after the cut to the cache.
    """

    kept: Kept = field(default_factory=Kept)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    tokens: int = 0
    aligned: Decimal = Decimal(0)
    flattened: Decimal = Decimal(0)

    @property
    def size_share(self) -> float:
        """The median of what stands after a cut as a share of what stood before it."""
        return statistics.median(after / before for after, before in self.sizes or [(0, 1)])

    @property
    def size_in_all(self) -> float:
        """All that stands after the cuts as a share of all that stood before them."""
        return sum(after for after, _ in self.sizes) / max(
            1, sum(before for _, before in self.sizes)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the score as plain data; of what is kept, how many of how many."""
        shares = {one.name: getattr(self.kept, one.name) for one in fields(Kept)}
        return {
            **{name: [share.kept, share.of] for name, share in shares.items()},
            "size_share": round(self.size_share, 6),
            "size_in_all": round(self.size_in_all, 6),
            "tokens": self.tokens,
            "cost_usd": {"aligned": float(self.aligned), "flattened": float(self.flattened)},
        }


@dataclass(slots=True)
class Evaluation:
    """All contenders' scores over so many cuts."""

    scores: Mapping[str, Score]
    compactions: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the whole result as plain data."""
        strategies = {name: score.to_json() for name, score in self.scores.items()}
        return {"compactions": self.compactions, "strategies": strategies}


@dataclass(frozen=True, slots=True)
class Course:
    """Where sessions are cut, in which window if in one, and from which cut on it counts."""

    cuts: Callable[[Recording], Sequence[Cut]] = lambda recording: recording.cuts
    window: int | None = None
    counts_from: int = 0


async def evaluate(
    recordings: Sequence[Callable[[], Recording]],
    contenders: Sequence[Contender],
    counter: TokenCounter,
    *,
    prices: Prices = PRICES,
    course: Course = Course(),
    on_progress: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """Return the scores over all recordings, each loaded only when its turn comes."""
    result = Evaluation({contender.name: Score() for contender in contenders})
    for done, load in enumerate(recordings, start=1):
        recording = load()
        cuts = course.cuts(recording)
        needs = {cut: needs_at(recording, cut) for cut in cuts[course.counts_from :]}
        result.compactions += len(needs)
        for contender in contenders:
            score = result.scores[contender.name]
            steps = Replay(contender, counter, course.window).run(recording, cuts)
            async for step in steps:
                if step.cut in needs:
                    score.kept += what_is_kept(needs[step.cut], step.after)
                    _measure(score, step, counter)
                    _charge(score, step, counter, prices)
        on_progress(done)
    return result


def _measure(score: Score, step: Step, counter: TokenCounter) -> None:
    score.sizes.append((len(text_of(step.after)), max(1, len(text_of(step.before)))))
    score.tokens += count_messages(step.after, counter)


def _charge(score: Score, step: Step, counter: TokenCounter, prices: Prices) -> None:
    written = Usage(cache_write=count_messages(step.after, counter))
    aligned = flattened = Usage()
    if step.reduction and step.reduction.prompt:
        read = count_messages(step.before, counter)
        asked = counter.count(step.reduction.prompt)
        answer = counter.count(step.reduction.summary + step.reduction.analysis)
        aligned = Usage(input=asked, output=answer, cache_read=read)
        flattened = Usage(input=asked + read, output=answer)
    score.aligned += prices.cost(aligned + written)
    score.flattened += prices.cost(flattened + written)
