"""Charges: the cost of a call, or the terms of its bill, as its provider reports them."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from chatapp.providers.formats import at
from chatapp.providers.sdk_provider import as_tokens

# The fields in which vendors report the charge in USD, and how many of a unit are one USD:
# docs.x.ai/developers/cost-tracking, docs.perplexity.ai, deepinfra.com, and gateways.
_FIELDS = (
    ("cost_in_usd_ticks", Decimal(10**10)),
    ("cost.total_cost", Decimal(1)),
    ("estimated_cost", Decimal(1)),
    ("cost", Decimal(1)),
)
# No call costs more USD, and no price has more digits: no column could hold it.
MOST_USD, LONGEST = 100_000, 30


def charged_in(usage: Mapping[Any, Any]) -> Decimal | None:
    """Return the USD that a report of usage says the call cost, None if it says nothing or zero."""
    # Zero says nothing: servers that do not know send it, too. With a key of the user's own at the
    # vendor behind a gateway, the vendor charges its part beside the gateway's fee.
    told = [_usd(at(usage, path), unit) for path, unit in _FIELDS]
    charged = next(filter(None, told), Decimal(0))
    if usage.get("is_byok") is True:
        charged += _usd(at(usage, "cost_details.upstream_inference_cost"))
    return charged or None


def terms_in(names: Iterable[object], counts: Iterable[tuple[object, object]]) -> dict[str, int]:
    """Return the terms of a bill: names such as its tier, and counts such as searches."""
    terms = dict.fromkeys([one[:LONGEST] for one in names if isinstance(one, str)], 1)
    return terms | {str(name)[:LONGEST]: n for name, count in counts if (n := as_tokens(count))}


def _usd(number: object, unit: Decimal = Decimal(1)) -> Decimal:
    """Return a number of units as USD, 0 for anything else."""
    with suppress(InvalidOperation):
        if isinstance(number, str | int | float) and len(str(number)) <= LONGEST:
            usd = Decimal(str(number)) / unit
            if usd.is_finite() and 0 < usd <= MOST_USD:
                return round(usd, 10)
    return Decimal(0)
