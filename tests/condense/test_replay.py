"""Replay of a whole history under other settings, with no model asked."""

import condense
from condense.replay import excerpt
from condense.testing import WordCounter
from tests.condense.dialogues import numbered

COUNTER = WordCounter()


def history(turns: int) -> list[condense.Message]:
    """Return questions of 52 words with answers of 102."""
    made: list[condense.Message] = []
    for turn in range(turns):
        made.append(condense.Message("user", f"Question {turn} " + "word " * 50))
        made.append(condense.Message("assistant", f"Answer {turn} " + "word " * 100))
    return [*numbered(made)]


def start(threshold: float) -> condense.Situation:
    """Return the beginning of a conversation in a window of 10,000 tokens."""
    budget = condense.Budget(window=10_000, max_output=1_000, threshold=threshold)
    size = condense.TokenCount(0)
    return condense.Situation(effective=(), tokens=size, budget=budget, system="You help.")


async def replayed(strategy: str, threshold: float, turns: int = 100) -> condense.Replayed:
    """Return what comes of a history, with excerpts in place of summaries."""
    condenser = condense.Condenser(condense.ExcerptSummarizer(), COUNTER, (strategy,))
    return await condense.replay_history(history(turns), condenser, start(threshold), COUNTER)


async def test_each_reply_takes_one_request_that_begins_with_the_one_before() -> None:
    """What is new in it is what was said since, and the first one has nothing to begin with."""
    found = await replayed("ledger", 100, turns=3)
    assert found.condensations == 0
    assert found.requests == [
        condense.Usage(input=54),
        condense.Usage(input=154, cache_read=54),
        condense.Usage(input=154, cache_read=208),
    ]
    assert (found.largest, found.tokens_read) == (362, 54 + 208 + 362)


def test_an_excerpt_is_the_first_line_of_each_reply_that_fits() -> None:
    """The newest in any case."""
    asked, said = condense.Message("user", "word " * 100), condense.Message("assistant", "Yes.\nSo")
    assert excerpt([said, asked, said]) == "Yes.\nYes."
    long = condense.Message("assistant", "word " * 200)
    assert excerpt([said, asked, long]) == long.text.strip()


async def test_the_context_stays_below_the_threshold() -> None:
    """The lower it is, the more often it condenses, and the less is read; also with a summary."""
    for strategy in ("ledger", "fresh_start"):
        low, high = await replayed(strategy, 50), await replayed(strategy, 80)
        assert low.condensations > high.condensations > 0
        assert low.largest < 5_000
        assert high.largest < 8_000
        assert low.tokens_read < high.tokens_read


async def test_what_makes_nothing_smaller_is_not_tried_for_ever() -> None:
    """There is nothing to clear in it."""
    condenser = condense.Condenser(condense.ExcerptSummarizer(), COUNTER, ("clear",))
    tried: list[str] = []

    async def count(plan: condense.Plan) -> None:
        tried.append(plan.prompt_key)

    condenser.hooks = condense.Hooks(before=(count,))
    found = await condense.replay_history(history(100), condenser, start(50), COUNTER)
    assert found.condensations == 0
    assert len(tried) == 3
