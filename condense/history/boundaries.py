"""Boundaries: the places to cut a history, so that a tool call and its result stay together."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from condense.history.answered_calls import pair_calls
from condense.messages import Message


def safe_cuts(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return, ascending, each ``i`` where ``messages[:i] | messages[i:]`` splits no tool pair.

    0 and ``len(messages)`` are always among them.
    """
    opened = [0] * (len(messages) + 1)
    for pair in pair_calls(messages).answered:
        opened[pair.called_at + 1] += 1
        opened[pair.answered_at + 1] -= 1
    return tuple(i for i, depth in enumerate(accumulate(opened)) if depth == 0)


def nearest_cut(cuts: Sequence[int], target: int, *, low: int, high: int) -> int | None:
    """Return the cut within ``[low, high]`` that is nearest to ``target``; the lower of two.

    ``cuts`` ascend, as from :func:`safe_cuts`; None when no cut lies in that range.
    """
    usable = cuts[bisect_left(cuts, low) : bisect_right(cuts, high)]
    return min(usable, key=lambda cut: (abs(cut - target), cut), default=None)


def unread_tail(effective: Sequence[Message]) -> int:
    """Return the index where the part that the model has not read begins.

    That is the user messages after the last reply and, where that reply called tools, the reply
    itself: its results are unread or still to come. ``len(effective)`` when all has been read.
    """
    start = len(effective)
    while start and effective[start - 1].role == "user":
        start -= 1
    if start and effective[start - 1].tool_uses:
        start -= 1
    cuts = safe_cuts(effective)
    return cuts[bisect_right(cuts, start) - 1]
