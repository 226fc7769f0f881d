"""Boundaries: the places to cut a history, so that a tool call and its result stay together."""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter

from condense.errors import NothingToCondense
from condense.messages import Message, ToolResultBlock, ToolUseBlock
from condense.sentences import noop

# Roo Code's English sentences, known to its users.
NOT_ENOUGH = noop("Not enough messages to condense context")
RECENTLY = noop("Context was condensed recently; skipping this attempt")


def safe_cuts(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return, ascending, each ``i`` for which ``messages[:i] | messages[i:]`` splits no tool pair.

    0 and ``len(messages)`` are always among them. The marker of a clearing stays with the message
    that it follows: a summary of that one would stand behind it.
    """
    opened = [0] * (len(messages) + 1)
    for pair in pair_calls(messages).answered:
        opened[pair.called_at + 1] += 1
        opened[pair.answered_at + 1] -= 1
    for i, message in enumerate(messages):
        if i and message.tags.clear_id and message.order[0] == messages[i - 1].order[0]:
            opened[i] += 1
            opened[i + 1] -= 1
    return tuple([i for i, depth in enumerate(accumulate(opened)) if depth == 0])


def unread_tail(effective: Sequence[Message]) -> int:
    """Return the index of the first message that the model has not read.

    Unread are the user messages after the last reply and, if that reply called tools, the reply
    itself: its results are unread or still to come. ``len(effective)`` when all has been read.
    """
    start = len(effective)
    while start and effective[start - 1].role == "user":
        start -= 1
    if start and effective[start - 1].tool_uses:
        start -= 1
    if not [True for message in effective[start:] if message.tool_results]:
        return start
    cuts = safe_cuts(effective)
    return cuts[bisect_right(cuts, start) - 1]


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call, its result, and the indexes of their messages."""

    call: ToolUseBlock
    result: ToolResultBlock
    called_at: int
    answered_at: int


@dataclass(frozen=True, slots=True)
class Pairing:
    """Answered calls in the order of their results, and the others with their places."""

    answered: tuple[AnsweredCall, ...]
    unanswered: tuple[tuple[int, ToolUseBlock], ...]


def pair_calls(messages: Iterable[Message]) -> Pairing:
    """Return the calls of a history with their results, and those without one.

    A call pairs with the first later result that carries its id. Once a later reply uses the id
    again, the earlier call of that id stays unanswered; within one reply, the first call comes
    first.
    """
    answered: list[AnsweredCall] = []
    unanswered: list[tuple[int, ToolUseBlock]] = []
    waiting: defaultdict[str, deque[tuple[int, ToolUseBlock]]] = defaultdict(deque)
    for index, message in enumerate(messages):
        if message.role == "assistant":
            for call in message.tool_uses:
                same = waiting[call.id]
                while same and same[0][0] < index:
                    unanswered.append(same.popleft())
                same.append((index, call))
            continue
        for result in message.tool_results:
            if waiting[result.tool_use_id]:
                called_at, call = waiting[result.tool_use_id].popleft()
                answered.append(AnsweredCall(call, result, called_at, index))
    unanswered += [open_ for calls in waiting.values() for open_ in calls]
    return Pairing(tuple(answered), tuple(sorted(unanswered, key=itemgetter(0))))


def require_enough(effective: Sequence[Message], hidden: Sequence[Message]) -> None:
    """Raise NothingToCondense if a summary of ``hidden`` would have nothing new.

    After a condensation at least two more messages are needed, as in Roo Code.
    """
    condensed = bool([True for message in effective if message.is_summary])
    too_few = len(effective) < (3 if condensed else 2)
    news = [True for message in hidden if not (message.is_summary or message.is_marker)]
    if too_few or not news:
        raise NothingToCondense(RECENTLY if condensed else NOT_ENOUGH)
