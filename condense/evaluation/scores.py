"""What each strategy keeps, what that takes, and what it would cost."""

import statistics
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from condense.evaluation.needs import Kept, Share, use_of, what_is_kept
from condense.evaluation.recordings import Recording, cuts_at
from condense.evaluation.replay import Step, replay
from condense.facts import plain_text
from condense.strategies import Strategy
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
    """One strategy over all cuts; ``sizes`` are shares of the text before each cut.

    Tokens are what stands after the cuts, all together. Costs are in USD: of the summary call,
    reading the conversation from the prompt cache (``aligned``) or sent anew (``flattened``), and
    of writing what stands after the cut to the cache.
    """

    needed_files: Share = field(default_factory=Share)
    needed_commands: Share = field(default_factory=Share)
    user_messages: Share = field(default_factory=Share)
    edited_files: Share = field(default_factory=Share)
    sizes: list[float] = field(default_factory=list)
    tokens: int = 0
    aligned: Decimal = Decimal(0)
    flattened: Decimal = Decimal(0)

    @property
    def size_share(self) -> float:
        """The median size."""
        return statistics.median(self.sizes) if self.sizes else 0.0

    def add(self, kept: Kept) -> None:
        """Count what was kept at one more cut."""
        self.needed_files += kept.needed_files
        self.needed_commands += kept.needed_commands
        self.user_messages += kept.user_messages
        self.edited_files += kept.edited_files

    def to_json(self) -> dict[str, Any]:
        """Return the score as plain data."""
        shares = ("needed_files", "needed_commands", "user_messages", "edited_files")
        counts = {name: [getattr(self, name).kept, getattr(self, name).of] for name in shares}
        cost = {"aligned": float(self.aligned), "flattened": float(self.flattened)}
        size = round(self.size_share, 6)
        return {**counts, "size_share": size, "tokens": self.tokens, "cost_usd": cost}


@dataclass(slots=True)
class Evaluation:
    """All strategies' scores over so many cuts."""

    scores: Mapping[str, Score]
    compactions: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the whole result as plain data."""
        strategies = {name: score.to_json() for name, score in self.scores.items()}
        return {"compactions": self.compactions, "strategies": strategies}


async def evaluate(
    recordings: Sequence[Callable[[], Recording]],
    strategies: Sequence[Strategy],
    counter: TokenCounter,
    *,
    prices: Prices = PRICES,
    threshold: int | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """Return the scores over all recordings, each loaded only when its turn comes.

    Cuts are where the sessions were cut, or wherever ``threshold`` tokens have come up.
    """
    result = Evaluation({strategy.name: Score() for strategy in strategies})
    for done, load in enumerate(recordings, start=1):
        recording = load()
        cuts = cuts_at(recording.messages, threshold) if threshold else recording.cuts
        result.compactions += len(cuts)
        for strategy in strategies:
            score = result.scores[strategy.name]
            steps = replay(recording, cuts, strategy, counter)
            await _score(score, recording, steps, counter, prices)
        on_progress(done)
    return result


async def _score(
    score: Score,
    recording: Recording,
    steps: AsyncIterator[Step],
    counter: TokenCounter,
    prices: Prices,
) -> None:
    async for step in steps:
        text = plain_text(step.after)
        before = use_of(recording.messages[: step.cut.at])
        after = use_of(recording.messages[step.cut.at :])
        score.add(what_is_kept(before, after, text))
        score.sizes.append(len(text) / max(1, len(plain_text(step.before))))
        score.tokens += count_messages(step.after, counter)
        _charge(score, step, counter, prices)


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
