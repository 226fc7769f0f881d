"""Sliding window: a marker with the facts of the oldest messages; no model is called."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from condense.budget.situation import Situation
from condense.history.boundaries import safe_cuts, unread_tail
from condense.history.tags import plan_truncation
from condense.messages import Message
from condense.reduction.truncation import ByTruncation
from condense.sentences import noop


@dataclass
class SlidingWindow(ByTruncation):
    """Hides a ``fraction`` of the messages after the first, and keeps their ledger.

    If the context can't be sent as it is, it goes on until the rest fits: it hides more, then the
    first message too, and keeps no ledger. At last it hides unread messages, but never a request
    that came last.
    """

    name = "sliding_window"
    label = noop("oldest part hidden")
    description = noop("keeps only its key facts, no model call")
    takes = ("fraction",)
    fraction: float = 0.5
    further: tuple[float, ...] = (0.75, 0.875)

    def plans(self, situation: Situation) -> Iterator[Sequence[Message]]:
        """Yield the usual fraction, and larger parts if the request is too large to send."""
        effective = situation.effective
        plans = [plan_truncation(effective, self.fraction)]
        if not situation.fits:
            read = effective[: unread_tail(effective)]
            second = next((cut for cut in safe_cuts(read) if cut), 0)
            more = [fraction for fraction in self.further if fraction > self.fraction]
            plans += (plan_truncation(read, fraction) for fraction in more)
            plans += (read[second:], read)
        by_length = {len(plan): plan for plan in plans}
        return (by_length[length] for length in sorted(by_length))

    def last_resorts(self, situation: Situation) -> Iterator[Sequence[Message]]:
        """Yield all read messages with ever more unread ones, except a request at the end."""
        effective = situation.effective
        if situation.fits or not effective:
            return
        read, last = unread_tail(effective), len(effective) - (not effective[-1].tool_results)
        yield from (effective[:cut] for cut in safe_cuts(effective) if read < cut <= last)
