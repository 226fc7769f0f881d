"""Where a history may be cut, so that a tool call and its result stay together."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from condense.messages import Message, ToolResultBlock, ToolUseBlock


def safe_cuts(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return, ascending, each ``i`` where ``messages[:i] | messages[i:]`` splits no tool pair.

    0 and ``len(messages)`` are always among them. A call pairs with the first later result that
    carries its id, so ids that a provider uses again in every turn are told apart.
    """
    opened = [0] * (len(messages) + 1)
    for call, result in _pairs(messages):
        opened[call + 1] += 1
        opened[result + 1] -= 1
    return tuple(i for i, depth in enumerate(accumulate(opened)) if depth == 0)


def _pairs(messages: Sequence[Message]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    pending: dict[str, int] = {}
    for index, message in enumerate(messages):
        replies = message.role == "assistant"
        for block in message.blocks:
            if replies and isinstance(block, ToolUseBlock):
                pending[block.id] = index
            elif (
                not replies and isinstance(block, ToolResultBlock) and block.tool_use_id in pending
            ):
                pairs.append((pending.pop(block.tool_use_id), index))
    return pairs


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
