"""What an attempt may take of a model is told before any call is made."""

import condense
from condense.testing import RecordingLog, ScriptedSummarizer, WordCounter

WORDS = " ".join(["word"] * 400)
HISTORY = tuple(
    condense.Message("user" if number % 2 == 0 else "assistant", WORDS, id=str(number), seq=number)
    for number in range(10)
)
NEW = condense.Message("user", WORDS, id="new", seq=10)


async def expected(strategy: str, *, caches: bool) -> condense.Usage:
    """Return what the first attempt of a manual run says that it may take."""
    log, counter = RecordingLog(), WordCounter()
    situation = condense.Situation(
        effective=(*HISTORY, NEW),
        tokens=condense.TokenCount(4_400),
        budget=condense.Budget(window=100_000, max_output=5_000),
        trigger=condense.Trigger.MANUAL,
        system="You help. " * 150,
    )
    model = ScriptedSummarizer("<summary>Told.</summary>", caches_prompts=caches)
    await condense.Condenser(model, counter, (strategy,), log=log).fit(situation)
    attempt: condense.Attempt = log.of("started")[0]
    return attempt.expected


async def test_what_the_model_has_read_is_read_again() -> None:
    """From the cache where there is one, as plain text where not; the new message in neither."""
    cached, sent = (
        await expected("fresh_start", caches=True),
        await expected("fresh_start", caches=False),
    )
    assert 4_000 <= cached.cache_read < 4_100
    assert cached.input < 1_000
    assert sent.cache_read == 0
    assert 4_000 < sent.input < 5_000
    assert 0 < cached.output == sent.output <= 5_000


async def test_a_strategy_without_a_model_takes_nothing() -> None:
    """It asks nobody."""
    assert await expected("ledger", caches=True) == condense.Usage()
