"""Usage and cost."""

from dataclasses import replace
from decimal import Decimal

from condense.prices import Prices, Surcharge, Usage


def test_a_cost_is_exact() -> None:
    """No binary fractions of a cent; a prompt includes what came from the cache."""
    prices = Prices(input=Decimal("0.1"), output=Decimal("0.2"), cache_read=Decimal("0.3"))
    assert prices.cost(Usage(1, 1, 1)) == Decimal("0.0000006")
    assert Prices().cost(Usage(1, 1, 1, 1)) == 0
    usage = Usage(input=10, output=5, cache_read=100, cache_write=20)
    assert (usage.prompt, usage.total) == (130, 135)


def test_what_is_cached_for_an_hour_costs_more_and_a_charge_is_the_cost() -> None:
    """Twice the input's price, where five minutes cost 1.25 times; no price knows better."""
    prices = Prices(input=Decimal(4), output=Decimal(20), cache_write=Decimal(5))
    usage = Usage(cache_write=3_000_000, cache_hour=1_000_000)
    assert prices.cost(usage) == 2 * 5 + 1 * 8
    assert prices.cost(usage + usage) == 36
    paid = Usage(1_000_000, charged=Decimal("0.5"))
    assert (prices.cost(paid), Prices().cost(paid)) == (Decimal("0.5"), Decimal("0.5"))
    assert prices.cost(paid + Usage(1_000_000)) == 8


def test_a_long_prompt_costs_its_surcharge() -> None:
    """From one token above the bound on, cached tokens included, for the reply too."""
    times = Surcharge(272_000, input=Decimal(2), output=Decimal("1.5"))
    prices = Prices(input=Decimal("1.25"), output=Decimal(10), surcharge=times)
    assert prices.cost(Usage(272_000, 10)) == Decimal("0.3401")
    assert prices.cost(Usage(272_001, 10)) == Decimal("0.6801525")
    assert prices.cost(Usage(1, 10, cache_read=272_000)) == Decimal("0.0001525")


def test_terms_of_a_bill_multiply_tokens_or_have_a_fee_each() -> None:
    """What is billed beside the tokens has their prices, and its own length; charges know best."""
    times = {"fast": Decimal(2), "standard": Decimal(1), "us": Decimal("1.1")}
    more = Surcharge(100, input=Decimal(5))
    prices = Prices(input=Decimal(4), surcharge=more, times=times, fees={"search": Decimal("0.01")})
    usage = Usage(100, terms={"fast": 1, "us": 1, "search": 3})
    assert prices.cost(usage) == Decimal("0.00088") + Decimal("0.03")
    assert prices.cost(replace(usage, beside=(Usage(200),))) == Decimal("0.03968")
    assert prices.covers(usage)
    odd = Usage(100, terms={"priority": 1})
    assert (prices.covers(odd), prices.covers(replace(odd, charged=Decimal(1)))) == (False, True)
    assert prices.cost(odd) == Decimal("0.0004")
