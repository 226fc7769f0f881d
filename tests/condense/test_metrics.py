"""Scores by prompt and strategy, and that they lead to the better one."""

from collections.abc import Iterator
from decimal import Decimal

import pytest

from condense import (
    Hooks,
    Metrics,
    Reduction,
    Situation,
    TextChunk,
    Trigger,
    Usage,
    UsageChunk,
    Verdict,
    register_prompt,
    unregister_prompt,
)
from tests.condense.bench import Bench, talk


@pytest.fixture(autouse=True)
def prompts() -> Iterator[None]:
    """Two prompts to compare."""
    for key in ("short", "long"):
        register_prompt(key, f"Be {key}.")
    yield
    for key in ("short", "long"):
        unregister_prompt(key)


async def likes_long(_situation: Situation, reduction: Reduction) -> Verdict:
    """Judge by the prompt."""
    return Verdict(score=0.9 if "long" in reduction.prompt else 0.3)


def bench(metrics: Metrics, *replies: object, choose: str = "") -> Bench:
    """Return a bench whose outcomes are remembered, and lead to the choice of a prompt."""
    hooks = Hooks(validators=(likes_long,), listeners=(metrics,))
    return Bench(
        *replies,
        hooks=hooks,
        choose_prompt=lambda _: choose or metrics.best(("short", "long"), by="prompt_key"),
    )


async def test_what_is_judged_better_is_chosen_from_then_on() -> None:
    """Each is tried once; then the scores decide."""
    metrics = Metrics()
    tried = bench(metrics, *["S"] * 5)
    for _ in range(5):
        await tried.fit(talk(4), trigger=Trigger.MANUAL)
    assert [one.prompt_key for one in metrics.history] == ["short", "long", "long", "long", "long"]
    scores = metrics.scores(by="prompt_key")
    assert scores["short"].score == pytest.approx(0.3)
    assert scores["long"].score == pytest.approx(0.9)
    assert scores["long"].attempts == 4


async def test_failures_score_nothing_and_their_cost_counts() -> None:
    """A strategy that needs no model has no prompt, and is compared as a strategy."""
    metrics = Metrics()
    paid = [TextChunk("half"), UsageChunk(Usage(1, 1), Decimal("0.5")), OSError("no")]
    await bench(metrics, paid, choose="long").fit(talk(12))
    by_strategy = metrics.scores(by="strategy")
    failed, ledger = by_strategy["fresh_start"], by_strategy["ledger"]
    assert (failed.attempts, failed.failures, failed.score) == (1, 1, 0)
    assert (failed.share_left, failed.cost) == (1, Decimal("0.5"))
    assert ledger.failures == 0
    assert ledger.share_left < 0.1
    assert [*metrics.scores(by="prompt_key")] == ["long"]


async def test_what_had_nothing_to_do_counts_for_nothing() -> None:
    """It says nothing about how good it is."""
    metrics = Metrics()
    tried = Bench("S", strategies=("clear", "fresh_start"), hooks=Hooks(listeners=(metrics,)))
    await tried.fit(talk(12))
    assert [one.strategy for one in metrics.history] == ["fresh_start"]
    assert metrics.history[0].score is None


async def test_people_have_the_last_word() -> None:
    """Whoever read the summary knows better than a validator."""
    metrics = Metrics()
    await bench(metrics, "S", choose="short").fit(talk(4), trigger=Trigger.MANUAL)
    metrics.rate(metrics.history[0].attempt_id, 1.0)
    assert metrics.scores(by="prompt_key")["short"].score == 1
    with pytest.raises(LookupError, match="No attempt 'x' is remembered"):
        metrics.rate("x", 1.0)


async def test_a_history_can_be_kept_and_gone_on_from() -> None:
    """Of the newest so many."""
    metrics = Metrics()
    tried = bench(metrics, *["S"] * 3)
    for _ in range(3):
        await tried.fit(talk(4), trigger=Trigger.MANUAL)
    again = Metrics(metrics.history, keep=2)
    assert again.history == metrics.history[1:]
    assert again.best(("short", "long"), by="prompt_key") == "short"
