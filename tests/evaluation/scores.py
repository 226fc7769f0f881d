"""Scores: what each contender keeps over all cuts, what that takes, and what it would cost."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from condense.prices import Prices, Usage
from condense.tokens.counters import CharacterCounter, count_messages
from tests.evaluation.contents import text_of
from tests.evaluation.figures import Share, figures, needs_at
from tests.evaluation.recordings import Cut, Recording
from tests.evaluation.replay import Replay, Step

COUNTER = CharacterCounter()
# USD per million tokens, as Claude Sonnet's have been since 2024.
PRICES = Prices(
    input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.30"), cache_write=Decimal("3.75")
)


@dataclass(slots=True)
class Score:
    """One contender over all cuts; ``sizes`` are characters after and before each cut.

    ``tokens`` is the size of all contexts after a cut. ``usd`` is the cost of the summary calls,
    with the conversation read from the prompt cache, and of writing what is left to the cache.
    """

    kept: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    tokens: int = 0
    usd: Decimal = Decimal(0)

    def add(self, step: Step, shares: Mapping[str, Share]) -> None:
        """Count one cut."""
        self.kept.update({name: share.kept for name, share in shares.items()})
        self.of.update({name: share.of for name, share in shares.items()})
        self.sizes.append((len(text_of(step.after)), max(1, len(text_of(step.before)))))
        tokens = count_messages(step.after, COUNTER)
        self.tokens += tokens
        usage = Usage(cache_write=tokens)
        if step.reduction and step.reduction.prompt:
            usage += Usage(
                input=COUNTER.count(step.reduction.prompt),
                output=COUNTER.count(step.reduction.summary + step.reduction.analysis),
                cache_read=count_messages(step.before, COUNTER),
            )
        self.usd += PRICES.cost(usage)

    def to_json(self) -> dict[str, Any]:
        """Return all figures as plain data: how many of how many are kept, shares and sums."""
        after, before = map(sum, zip(*self.sizes or [(0, 1)], strict=True))
        shares = [one / other for one, other in self.sizes or [(0, 1)]]
        return {
            **{name: [self.kept[name], of] for name, of in self.of.items()},
            "size, median": round(statistics.median(shares), 6),
            "size, in all": round(after / before, 6),
            "tokens": self.tokens,
            "USD": float(self.usd),
        }


@dataclass(frozen=True, slots=True)
class Course:
    """Where sessions are cut, in which window if in one, and from which cut on it counts."""

    cuts: Callable[[Recording], Sequence[Cut]] = lambda recording: recording.cuts
    window: int | None = None
    counts_from: int = 0


async def evaluate(
    recordings: Iterable[Recording], names: Sequence[str], course: Course = Course()
) -> dict[str, Score]:
    """Return the score of each strategy over all recordings."""
    scores = {name: Score() for name in names}
    for recording in recordings:
        cuts = course.cuts(recording)
        needs = {cut: needs_at(recording, cut) for cut in cuts[course.counts_from :]}
        for name, score in scores.items():
            async for step in Replay(name, COUNTER, course.window).run(recording, cuts):
                if step.cut in needs:
                    score.add(step, figures(needs[step.cut], step.after))
    return scores


def format_table(scores: Mapping[str, Score]) -> str:
    """Return a line for each figure that there is, with a column for each contender."""
    columns = {name: score.to_json() for name, score in scores.items()}
    rows = [("", *columns)]
    for figure in next(iter(columns.values())):
        cells = [_cell(figure, column[figure]) for column in columns.values()]
        if set(cells) != {"-"}:
            rows.append((figure, *cells))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))) for row in rows
    )


def _cell(figure: str, value: Any) -> str:
    if isinstance(value, list):
        kept, of = value
        return f"{kept}/{of} {kept / of:6.1%}" if of else "-"
    if figure.startswith("size"):
        return f"{value:.2%}"
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
