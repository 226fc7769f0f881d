"""Pairs of tool calls and their results, told by their order too: ids alone may come again."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from condense.messages import Message, ToolResultBlock, ToolUseBlock


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call, its result, and which of the given messages they stand in."""

    call: ToolUseBlock
    result: ToolResultBlock
    called_at: int
    answered_at: int


@dataclass(frozen=True, slots=True)
class Pairing:
    """Answered calls in the order of their results, and the others with where they stand."""

    answered: tuple[AnsweredCall, ...]
    unanswered: tuple[tuple[int, ToolUseBlock], ...]


def pair_calls(messages: Iterable[Message]) -> Pairing:
    """Return which calls of a history were answered with what.

    A call pairs with the first later result that carries its id. Once a later reply uses the id
    again, what it named before stays unanswered; within one reply, the first call comes first.
    """
    answered: list[AnsweredCall] = []
    unanswered: list[tuple[int, ToolUseBlock]] = []
    waiting: defaultdict[str, deque[tuple[int, ToolUseBlock]]] = defaultdict(deque)
    for index, message in enumerate(messages):
        if message.role == "assistant":
            for call in message.tool_uses:
                unanswered += _given_up(waiting[call.id], before=index)
                waiting[call.id].append((index, call))
            continue
        for result in message.tool_results:
            if waiting[result.tool_use_id]:
                called_at, call = waiting[result.tool_use_id].popleft()
                answered.append(AnsweredCall(call, result, called_at, index))
    unanswered += (open_ for calls in waiting.values() for open_ in calls)
    return Pairing(tuple(answered), tuple(sorted(unanswered, key=lambda one: one[0])))


def _given_up(
    waiting: deque[tuple[int, ToolUseBlock]], before: int
) -> Iterator[tuple[int, ToolUseBlock]]:
    """Take out the calls of earlier messages."""
    while waiting and waiting[0][0] < before:
        yield waiting.popleft()
