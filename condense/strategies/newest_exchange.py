"""Newest exchange: a marker with the facts of all before the newest request."""

from collections.abc import Iterator, Sequence

from condense.budget.situation import Situation
from condense.history.boundaries import safe_cuts
from condense.messages import Message
from condense.reduction.carryover import newest_request
from condense.reduction.truncation import ByTruncation
from condense.sentences import noop


class NewestExchange(ByTruncation):
    """Hides everything before the newest request, and keeps the ledger of the hidden part."""

    name = "newest_exchange"
    label = noop("latest request + key facts")
    description = noop("all before your latest request becomes key facts")

    def plans(self, situation: Situation) -> Iterator[Sequence[Message]]:
        """Yield the messages before the request."""
        effective = situation.effective
        asked, _ = newest_request(effective)
        start = effective.index(asked) if asked else 0
        yield effective[: max([cut for cut in safe_cuts(effective) if cut <= start], default=0)]
