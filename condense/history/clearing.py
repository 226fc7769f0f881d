"""One line in place of a tool result that a clearing's marker names; the original stays stored."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from condense.messages import Block, Cleared, Message, ToolResultBlock


def cleared_by(visible: Iterable[Message]) -> Cleared:
    """Return what all visible markers clear together."""
    cleared: dict[str, Mapping[str, str]] = {}
    for message in visible:
        for name, lines in message.tags.cleared.items():
            cleared[name] = {**cleared.get(name, {}), **lines}
    return cleared


def clear_results(messages: Sequence[Message], cleared: Cleared) -> tuple[Message, ...]:
    """Return the messages with each result that ``cleared`` names replaced by its line.

    A message that changes has no token count of its own any more.
    """
    if not cleared:
        return tuple(messages)
    return tuple(
        _with_lines(one, cleared[one.id]) if one.id in cleared else one for one in messages
    )


def _with_lines(message: Message, lines: Mapping[str, str]) -> Message:
    return message.with_content(tuple(_line(block, lines) for block in message.blocks))


def _line(block: Block, lines: Mapping[str, str]) -> Block:
    if isinstance(block, ToolResultBlock) and block.tool_use_id in lines:
        return replace(block, content=lines[block.tool_use_id])
    return block
