"""How well strategies and prompts do: scores of what listeners hear, to choose the better one."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import fmean
from typing import Literal

from condense.condenser.log import AttemptFailed, AttemptSucceeded, Event
from condense.errors import NothingToCondense
from condense.situation import Verdict

KEEP = 1_000  # attempts; the older ones say little of a model that is in use now

Subject = Literal["strategy", "prompt_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one attempt; ``score`` is from 0 to 1, None where nobody judged it."""

    attempt_id: str
    strategy: str
    prompt_key: str
    succeeded: bool
    tokens_before: int
    tokens_after: int
    cost: Decimal = Decimal(0)
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What several attempts come to: their mean ``score``, what they left of a context, their cost.

    A failed attempt scores 0 and leaves everything. ``score`` is None where none was judged.
    """

    attempts: int
    failures: int
    score: float | None
    share_left: float
    cost: Decimal


class Metrics:
    """A listener that remembers outcomes; give it to ``Hooks(listeners=(metrics,))``.

    ``history`` has the outcomes, oldest first, and can be given back to go on from.
    """

    def __init__(self, history: Iterable[Outcome] = (), *, keep: int = KEEP) -> None:
        """Go on from what is known."""
        self._outcomes = deque(history, maxlen=keep)

    @property
    def history(self) -> Sequence[Outcome]:
        """What is remembered, oldest first."""
        return tuple(self._outcomes)

    def __call__(self, event: Event) -> None:
        """Remember what became of an attempt; one that had nothing to do counts for nothing."""
        match event:
            case AttemptSucceeded(attempt, reduction):
                after, score = reduction.tokens_after.value, _mean(reduction.verdicts)
                cost, succeeded = reduction.cost, True
            case AttemptFailed(attempt, error) if not isinstance(error, NothingToCondense):
                after, score = attempt.tokens_before.value, 0.0
                cost, succeeded = error.cost, False
            case _:
                return
        self._outcomes.append(
            Outcome(
                attempt_id=attempt.id,
                strategy=attempt.strategy,
                prompt_key=attempt.prompt_key,
                succeeded=succeeded,
                tokens_before=attempt.tokens_before.value,
                tokens_after=after,
                cost=cost,
                score=score,
            )
        )

    def rate(self, attempt_id: str, score: float) -> None:
        """Put a person's judgement, from 0 to 1, in the validators' place; LookupError if gone."""
        for index, outcome in enumerate(self._outcomes):
            if outcome.attempt_id == attempt_id:
                self._outcomes[index] = replace(outcome, score=score)
                return
        raise LookupError(f"No attempt {attempt_id!r} is remembered.")

    def scores(self, by: Subject) -> dict[str, Score]:
        """Return the score of each strategy, or of each prompt that asked a model."""
        found: dict[str, list[Outcome]] = {}
        for outcome in self._outcomes:
            if name := getattr(outcome, by):
                found.setdefault(name, []).append(outcome)
        return {name: _score(outcomes) for name, outcomes in found.items()}

    def best(self, candidates: Sequence[str], by: Subject) -> str:
        """Return the candidate with the best score; one that was never judged is tried first."""
        scores = self.scores(by)
        judged = {name: one.score for name, one in scores.items() if one.score is not None}
        untried = next((name for name in candidates if name not in judged), None)
        return untried or max(candidates, key=lambda name: judged[name])


def _mean(verdicts: Iterable[Verdict]) -> float | None:
    given = [verdict.score for verdict in verdicts if verdict.score is not None]
    return fmean(given) if given else None


def _score(outcomes: Sequence[Outcome]) -> Score:
    given = [one.score for one in outcomes if one.score is not None]
    return Score(
        attempts=len(outcomes),
        failures=sum(not one.succeeded for one in outcomes),
        score=fmean(given) if given else None,
        share_left=fmean(one.tokens_after / max(1, one.tokens_before) for one in outcomes),
        cost=sum((one.cost for one in outcomes), Decimal(0)),
    )
