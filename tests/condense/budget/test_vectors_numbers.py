"""Recorded arithmetic: thresholds, the context bar, token counts and costs."""

from decimal import Decimal
from typing import Any

import pytest

from condense.budget.budget import Budget, output_limit
from condense.messages import content_from_api
from condense.prices import Prices, Surcharge, Usage
from condense.tokens.counters import TiktokenCounter
from tests.condense.roo import Case, each
from tests.condense.roo_model import budget_of


def budget(given: dict[str, Any]) -> Budget:
    """Return the budget a recorded case describes."""
    return budget_of(
        given["contextWindow"],
        given.get("maxTokens"),
        given["autoCondenseContextPercent"],
        given["profileThresholds"],
        given["currentProfileId"],
    )


@each("willManageContext")
def test_a_reduction_starts_when_it_starts_in_roo(case: Case) -> None:
    """At the threshold when automatic, above the limit always; the bar's mark agrees."""
    given = case["input"]
    tokens = given["totalTokens"] + given["lastMessageTokens"]
    automatic = given["autoCondenseContext"]
    assert bool(budget(given).reason(tokens, automatic=automatic)) == case["output"]
    given = budget(case["input"])
    at = given.condenses_at
    assert given.reason(at)
    assert at == 0 or not given.reason(at - 1)


@each("calculateTokenDistribution")
def test_the_context_bar_shows_roos_numbers(case: Case) -> None:
    """Used, reserved and available, exactly; a negative window, refused here, is 0 there."""
    given = case["input"]
    budget = Budget(max(0, given["contextWindow"]), given.get("maxTokens"))
    free = max(0, budget.capacity - given["contextTokens"])
    sizes = max(0, given["contextTokens"]), budget.reserved, free
    percent = [pytest.approx(100 * size / sum(sizes), rel=1e-12) for size in sizes]
    assert case["output"] == {
        "currentPercent": percent[0],
        "reservedPercent": percent[1],
        "availablePercent": percent[2],
        "reservedForOutput": budget.reserved,
        "availableSize": free,
    }


@each("getModelMaxOutputTokens")
def test_as_much_is_kept_free_for_a_reply_as_in_roo(case: Case) -> None:
    """What the model can write at most, but no more than a fifth of the window."""
    model = case["input"]["model"]
    ours = output_limit(model["contextWindow"], model.get("maxTokens"))
    assert ours == case["output"]["value"]


@each("tiktokenCount")
def test_tokens_are_counted_as_in_roo(case: Case) -> None:
    """The same vocabulary, the same factor, rounded up once."""
    assert TiktokenCounter().count(content_from_api(case["input"]["content"])) == case["output"]


KINDS = ("input", "output", "cacheReads", "cacheWrites")


def prices(case: Case) -> Prices:
    """Return a model's prices; what is missing is free."""
    info = case["input"]["modelInfo"]
    listed = [Decimal(str(info.get(f"{kind}Price") or 0)) for kind in KINDS]
    return Prices(*listed, surcharge(case))


def surcharge(case: Case) -> Surcharge | None:
    """Return what long prompts cost more; Roo knows that only of OpenAI's service tiers."""
    rule = case["input"]["modelInfo"].get("longContextPricing")
    if not rule or case["function"] != "calculateApiCostOpenAI":
        return None
    tier = case["input"].get("serviceTier") or "default"
    if tier not in rule.get("appliesToServiceTiers", [tier]):
        return None
    times = [Decimal(str(rule.get(f"{kind}PriceMultiplier", 1))) for kind in KINDS]
    return Surcharge(rule["thresholdTokens"], *times)


def usage(case: Case) -> Usage:
    """Return a recorded usage; OpenAI's input counts the cached tokens too."""
    given = case["input"]
    read = given.get("cacheReadInputTokens") or 0
    written = given.get("cacheCreationInputTokens") or 0
    counted_twice = read + written if case["function"] == "calculateApiCostOpenAI" else 0
    fresh = max(0, given["inputTokens"] - counted_twice)
    return Usage(fresh, given["outputTokens"], read, written)


@each("calculateApiCost")
def test_a_call_costs_what_it_costs_in_roo(case: Case) -> None:
    """Anthropic's counts leave the cached tokens out, OpenAI's include them."""
    if case["function"] != "parseApiPrice":
        ours = float(prices(case).cost(usage(case)))
        assert ours == pytest.approx(case["output"]["totalCost"], abs=1e-12)
