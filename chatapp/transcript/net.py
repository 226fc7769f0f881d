"""What condensing saved, against what it cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

import condense
from chatapp.models import Profile


@dataclass(frozen=True, slots=True)
class Net:
    """In USD: what one more request would cost more with the tokens saved, and what is left of it.

    ``tokens_unpriced`` are those of profiles whose price is not known, which count for nothing.
    """

    worth: Decimal
    left: Decimal
    tokens_unpriced: int


def net_of(owner: User, totals: Mapping[str, Any]) -> Net:
    """Return the net of the totals of an owner's attempts, at the input prices of today."""
    one_token = condense.Usage(input=1)
    prices = {one.name: one.cost_of(one_token) for one in Profile.objects.filter(owner=owner)}
    worth, unpriced = Decimal(0), 0
    for name, tokens in totals["saved_by"].items():
        price = prices.get(name)
        worth += tokens * (price or 0)
        unpriced += tokens if price is None else 0
    return Net(worth, worth - totals["cost"], unpriced)
