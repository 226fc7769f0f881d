"""Fit a turn's tool results to the calls they answer, before it is appended."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from condense.messages import Block, Message, ToolResultBlock, ToolUseBlock
from condense.shaping.pairing import INTERRUPTED


def validate_tool_results(user_message: Message, history: Sequence[Message]) -> Message:
    """Return the message with exactly one result for each call of the last reply.

    Repeated results are dropped; one with an unknown id gets the id of the call at its place, or
    goes when that is taken; missing ones come first and say that the tool was interrupted.
    """
    calls = next((m.tool_uses for m in reversed(history) if m.role == "assistant"), ())
    if user_message.role != "user" or isinstance(user_message.content, str) or not calls:
        return user_message
    blocks = list(_corrected(_distinct(user_message.content), calls))
    covered = {block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)}
    missing = (ToolResultBlock(use.id, INTERRUPTED) for use in calls if use.id not in covered)
    return user_message.with_content((*missing, *blocks))


def _distinct(blocks: Sequence[Block]) -> Iterator[Block]:
    seen: set[str] = set()
    for block in blocks:
        if not isinstance(block, ToolResultBlock):
            yield block
        elif block.tool_use_id not in seen:
            seen.add(block.tool_use_id)
            yield block


def _corrected(blocks: Iterator[Block], calls: Sequence[ToolUseBlock]) -> Iterator[Block]:
    known = {use.id for use in calls}
    used: set[str] = set()
    place = 0
    for block in blocks:
        if not isinstance(block, ToolResultBlock):
            yield block
            continue
        at_place = calls[place].id if place < len(calls) else None
        place += 1
        free = block.tool_use_id in known - used
        id_ = block.tool_use_id if free else at_place
        if id_ is not None and id_ not in used:
            used.add(id_)
            yield block if free else replace(block, tool_use_id=id_)
